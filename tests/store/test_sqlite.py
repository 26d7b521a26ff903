"""The SQLite store over real accidents: killed processes, races, locks, full disks, files that are somebody else's."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from langgraph_degrade.engine.store import ClaimKey, StoreUnavailable
from langgraph_degrade.errors import DegradeError
from langgraph_degrade.store import MemoryStore, SqliteStore
from langgraph_degrade.store.sqlite import PRUNED, VERSION

pytestmark = pytest.mark.row("E4")

REFUND = ClaimKey("thread-1", "turn-1", "tool:create_refund", '{"card":"4111-1111"}', "call-1")

CHILD = """
import os, resource, signal, sys
from langgraph_degrade.engine.store import ClaimKey, StoreUnavailable
from langgraph_degrade.store import SqliteStore

def key(turn, call="call-1"):
    return ClaimKey("thread-1", turn, "tool:create_refund", '{"card":"4111-1111"}', call)

store = SqliteStore(sys.argv[1])
"""


def start(path: Path, code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD + code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(path: Path, code: str) -> tuple[int, str]:
    with start(path, code) as child:
        output, _ = child.communicate(timeout=60)
        return child.returncode, output


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "degrade.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, patience=0.01)) as made:
        yield made


@pytest.mark.case("case-W04")
def test_a_process_killed_between_claim_and_settle_leaves_an_unknown_write(path: Path):
    code = """
store.claim(key("turn-1"), owner="dead", now=0.0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run(path, code)[0] == -signal.SIGKILL
    with closing(SqliteStore(path)) as store:
        found = store.claim(REFUND, owner="me", now=1.0)
        assert (found.state, found.owner) == ("unknown", "dead")
        store.settle(found, "done", {"refund": "R-1"})
        assert store.claim(REFUND, owner="me", now=2.0).result == {"refund": "R-1"}


@pytest.mark.case("case-W01")
def test_of_two_processes_that_race_for_a_claim_exactly_one_sends(path: Path):
    """The file itself is made in the race, too."""
    code = """
print("ready", flush=True)
sys.stdin.readline()
for turn in range(50):
    print(store.claim(key(str(turn)), owner=str(os.getpid()), now=0.0).state)
"""
    with start(path, code) as one, start(path, code) as other:
        both = (one, other)
        assert [child.stdout.readline() for child in both if child.stdout] == ["ready\n"] * 2
        for child in both:
            assert child.stdin
            child.stdin.write("\n")
            child.stdin.flush()
        first, second = (child.communicate(timeout=60)[0].split() for child in both)
    assert [{mine, theirs} for mine, theirs in zip(first, second, strict=True)] == [{"claimed", "unknown"}] * 50


@pytest.mark.row("R2")
def test_unfinished_items_survive_a_killed_process(path: Path):
    code = """
store.add({"id": "a", "thread": "t", "what": "退款", "queued": True}, now=0.0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    run(path, code)
    with closing(SqliteStore(path)) as store:
        assert store.unfinished("t") == [{"id": "a", "thread": "t", "what": "退款", "queued": True}]


def test_a_forked_child_uses_a_connection_of_its_own(path: Path):
    code = """
store.claim(key("turn-1"), owner="parent", now=0.0)
child = os.fork()
if child == 0:
    states = [store.claim(key(turn), owner="child", now=0.0).state for turn in ("turn-1", "turn-2")]
    os.write(1, " ".join(states).encode())
    os._exit(0)
os.waitpid(child, 0)
print(" " + store.claim(key("turn-2", "call-2"), owner="parent", now=0.0).state, len(store._opened))
"""
    assert run(path, code) == (0, "unknown claimed unknown 1\n")


def test_a_full_disk_is_told_and_the_store_recovers(path: Path):
    code = """
size = os.stat(sys.argv[1]).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
def claim(turn):
    try:
        return store.claim(key(turn), owner="me", now=0.0).state
    except StoreUnavailable as error:
        return type(error.__cause__).__name__
full = {claim(str(turn)) for turn in range(2000)}
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(sorted(full - {"claimed"}), claim("later"))
"""
    assert run(path, code) == (0, "['OperationalError'] claimed\n")


def test_a_locked_file_is_told_and_nothing_changes(path: Path, store: SqliteStore):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked") as caught:
            store.claim(REFUND, owner="me", now=0.0)
        assert isinstance(caught.value, DegradeError)
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        other.execute("ROLLBACK")
    assert store.claim(REFUND, owner="me", now=0.0).state == "claimed"


def test_a_locked_file_can_still_be_read(path: Path, store: SqliteStore):
    store.add({"id": "a", "thread": "t"}, now=0.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert store.unfinished("t") == [{"id": "a", "thread": "t"}]


def test_a_reader_in_the_way_of_wal_is_put_up_with(path: Path, store: SqliteStore):
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("PRAGMA journal_mode = DELETE")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM claims").fetchall()
        with pytest.raises(StoreUnavailable, match="locked"):
            store.claim(REFUND, owner="me", now=0.0)
        reader.execute("ROLLBACK")
        assert store.claim(REFUND, owner="me", now=0.0).state == "claimed"
        store.close()
        store.unfinished()
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_thread_does_not_wait_for_another_for_longer_than_its_patience(store: SqliteStore):
    with store._connected(), pytest.raises(StoreUnavailable, match="busy"):
        store.unfinished()
    assert store.unfinished() == []


def test_an_interrupted_change_is_undone_and_lets_go(store: SqliteStore):
    with pytest.raises(KeyboardInterrupt), store._transaction() as database:
        database.execute("DELETE FROM unfinished")
        raise KeyboardInterrupt
    assert store.claim(REFUND, owner="me", now=0.0).state == "claimed"


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_corrupt_file_is_told_and_left_alone(path: Path, damage: bytes):
    path.write_bytes(damage)
    with pytest.raises(StoreUnavailable) as caught:
        SqliteStore(path)
    assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
    assert path.read_bytes() == damage


def test_a_file_that_goes_bad_is_told(path: Path, store: SqliteStore):
    store.claim(REFUND, owner="me", now=0.0)
    store.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 8)
    with closing(SqliteStore(path)) as damaged, pytest.raises(StoreUnavailable):
        damaged.claim(REFUND, owner="me", now=0.0)


def test_a_missing_directory_is_told(tmp_path: Path):
    with pytest.raises(StoreUnavailable, match="unable to open"):
        SqliteStore(tmp_path / "nowhere" / "degrade.db")


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_memory_is_not_a_file(name: str):
    with pytest.raises(ValueError, match="MemoryStore"):
        SqliteStore(name)


def test_a_file_of_a_newer_version_says_what_to_do(path: Path, store: SqliteStore):
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreUnavailable, match=f"schema {VERSION + 1}.*upgrade"):
        SqliteStore(path)


def test_what_a_newer_version_added_is_read_leniently(path: Path, store: SqliteStore):
    """A process that has the file open while a newer one migrates it goes on; a state it doesn't know is a doubt."""
    store.claim(REFUND, owner="me", now=0.0)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("ALTER TABLE claims ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'")
        other.execute("UPDATE claims SET state = 'half_done'")
    assert store.claim(REFUND, owner="me", now=0.0).state == "unknown"
    assert store.claim(ClaimKey("t", "1", "x", "{}"), owner="me", now=0.0).state == "claimed"


@pytest.mark.parametrize(
    "mark", ["CREATE TABLE checkpoints (id)", "PRAGMA user_version = 7", "PRAGMA application_id = 7"]
)
def test_somebody_elses_file_is_refused_and_left_alone(path: Path, mark: str):
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(mark)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="file of its own"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_arguments_are_not_written_down(path: Path, store: SqliteStore):
    store.settle(store.claim(REFUND, owner="me", now=0.0), "unknown")
    store.close()
    assert b"4111-1111" not in path.read_bytes()


def test_many_old_rows_are_forgotten_little_by_little(store: SqliteStore):
    for number in range(PRUNED + 10):
        store.claim(ClaimKey("t", str(number), "x", "{}"), owner="me", now=0.0, ttl=1.0)

    def rows() -> int:
        with store._connected() as database:
            return int(database.execute("SELECT count(*) FROM claims").fetchone()[0])

    assert rows() == PRUNED + 10
    store.claim(ClaimKey("t", "new", "x", "{}"), owner="me", now=2.0)
    assert rows() == 11
    store.claim(ClaimKey("t", "newer", "x", "{}"), owner="me", now=2.0)
    assert rows() == 2


def test_it_can_be_closed_and_used_again(store: SqliteStore):
    store.claim(REFUND, owner="me", now=0.0)
    store.close()
    store.close()
    assert store.claim(REFUND, owner="me", now=0.0).state == "unknown"


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("degrade.db")
    store.claim(REFUND, owner="me", now=0.0)
    store.close()
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    assert store.claim(REFUND, owner="me", now=0.0).state == "unknown"
    store.close()


@pytest.mark.row("A4")
def test_only_the_durable_one_may_promise_anything(store: SqliteStore):
    assert store.durable is True
    assert MemoryStore().durable is False
