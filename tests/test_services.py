"""The servers the other tests stand on are real, empty, and go away."""

from __future__ import annotations

import psycopg
import pytest
import redis

from tests.services import Postgres, Redis


def test_redis_is_empty_for_each_test(redis_url: str):
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", "over")


test_redis_is_empty_again = test_redis_is_empty_for_each_test


def test_redis_runs_scripts(redis_url: str):
    with redis.Redis.from_url(redis_url) as client:
        assert client.eval("return redis.call('incr', KEYS[1])", 1, "n") == 1


def test_a_stopped_redis_refuses_and_comes_back_on_the_same_port():
    with Redis() as server:
        server.stop()
        with redis.Redis.from_url(server.url) as client, pytest.raises(redis.ConnectionError):
            client.ping()
        server.start()
        with redis.Redis.from_url(server.url) as client:
            assert client.ping()


def test_each_test_has_a_database_of_its_own(postgres_url: str, postgres_server: Postgres):
    with psycopg.connect(postgres_url) as connection:
        connection.execute("create table t (n int)")
    with psycopg.connect(postgres_server.database()) as connection:
        assert connection.execute("select count(*) from pg_tables where tablename = 't'").fetchone() == (0,)


def test_a_server_leaves_nothing_behind():
    with Redis() as server:
        pass
    assert not server.folder.exists()


def test_a_killed_postgres_keeps_what_was_committed():
    with Postgres() as server:
        address = server.database()
        with psycopg.connect(address) as connection:
            connection.execute("create table t as select 1 as n")
        server.stop()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(address)
        server.start()
        with psycopg.connect(address) as connection:
            assert connection.execute("select n from t").fetchone() == (1,)
