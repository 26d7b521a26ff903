"""A store for one machine that restarts: one SQLite file, shared by its threads and processes.

Every change is one `BEGIN IMMEDIATE` transaction, so two processes can't both win a claim. `synchronous=FULL`: a
claim that a power cut may undo protects nothing, and writes are few. Arguments are stored as a digest only.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from langgraph_degrade.engine.store import KEEP, Claim, ClaimKey, Settled, StoreUnavailable
from langgraph_degrade.store.claims import KNOWN, handed_out, next_ordinal, packed, settled, standing, still_open

VERSION = 1
"""Of the schema, in `PRAGMA user_version`."""

APPLICATION = 0x4C474447
"""Marks the file as ours, in `PRAGMA application_id`."""

PRUNED = 100
"""Rows forgotten at most per new one (○): keeps up, and no call pays for a year of others."""

_SCHEMA = (
    """CREATE TABLE claims (
        id INTEGER PRIMARY KEY AUTOINCREMENT, intent TEXT NOT NULL, target BLOB NOT NULL, tool_call_id BLOB,
        ordinal INTEGER NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL, at REAL NOT NULL, until REAL NOT NULL,
        result TEXT)""",
    "CREATE INDEX claims_intent ON claims (intent)",
    "CREATE INDEX claims_until ON claims (until)",
    """CREATE TABLE unfinished (
        id INTEGER PRIMARY KEY AUTOINCREMENT, thread BLOB NOT NULL, name BLOB NOT NULL, until REAL NOT NULL,
        item TEXT NOT NULL, UNIQUE (thread, name))""",
    "CREATE INDEX unfinished_until ON unfinished (until)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
_ROW = "SELECT id, tool_call_id, ordinal, state, owner, at, result FROM claims WHERE "


@dataclass(frozen=True, slots=True)
class _Open:
    connection: sqlite3.Connection
    lock: Lock = field(default_factory=Lock)


class SqliteStore:
    """A `Store` in an SQLite file of its own; claims and unfinished items survive SIGKILL and power cuts.

    Opening creates the file, not its directory. `StoreUnavailable` where the file can't be used: locked for longer
    than `patience` seconds, not ours, corrupt, or written by a newer version.

    Example:
        >>> import tempfile
        >>> store = SqliteStore(f"{tempfile.mkdtemp()}/degrade.db")
        >>> store.add({"id": "refund#1", "thread": "t-1", "what": "refund(SO-1001)", "state": "unknown"}, now=0.0)
        >>> [item["what"] for item in store.unfinished("t-1")]
        ['refund(SO-1001)']
        >>> store.close()
    """

    durable = True

    def __init__(self, path: str | os.PathLike[str], *, patience: float = 2.0) -> None:
        if os.fspath(path) in ("", ":memory:"):
            raise ValueError("SqliteStore wants a file; for memory there is MemoryStore()")
        self._path = str(Path(path).absolute())
        self._patience = patience
        self._opened: dict[int, _Open] = {}
        self._handle()

    def claim(self, key: ClaimKey, *, owner: str, now: float, ttl: float = KEEP) -> Claim:
        """See `Store.claim`."""
        intent, call = key.intent, _blob(key.tool_call_id)
        with self._transaction() as database:
            rows = [_claim(row, key) for row in database.execute(_ROW + "intent = ? ORDER BY id", (intent,))]
            found = standing(rows, key, owner)
            if found is not None:
                return handed_out(found)
            ordinal = next_ordinal(rows, key)
            cursor = database.execute(
                "INSERT INTO claims (intent, target, tool_call_id, ordinal, state, owner, at, until)"
                " VALUES (?, ?, ?, ?, 'claimed', ?, ?, ?)",
                (intent, _blob(key.target), call, ordinal, owner, now, now + ttl),
            )
            _prune(database, "claims", now)
            return Claim(cursor.lastrowid or 0, key, ordinal, "claimed", owner, now)

    def settle(self, claim: Claim, state: Settled, result: object = None) -> Claim:
        """See `Store.settle`."""
        text = packed(result)
        with self._transaction() as database:
            found = database.execute(_ROW + "id = ? AND intent = ?", (claim.id, claim.key.intent)).fetchone()
            row = settled(_claim(found, claim.key) if found else claim, state, text)
            database.execute(
                "UPDATE claims SET state = ?, result = ? WHERE id = ? AND intent = ?",
                (row.state, row.result, claim.id, claim.key.intent),
            )
        return handed_out(row)

    def add(self, item: Mapping[str, Any], *, now: float) -> None:
        """See `Store.add`."""
        with self._transaction() as database:
            database.execute(
                "INSERT INTO unfinished (thread, name, until, item) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (thread, name) DO UPDATE SET until = excluded.until, item = excluded.item",
                (_thread(item["thread"]), _blob(item["id"]), now + KEEP, json.dumps(dict(item))),
            )
            _prune(database, "unfinished", now)

    def unfinished(self, thread: str | None = None) -> list[dict[str, Any]]:
        """See `Store.unfinished`."""
        where, values = ("", ()) if thread is None else ("WHERE thread = ?", (_thread(thread),))
        with self._connected() as database:
            rows = database.execute(f"SELECT item FROM unfinished {where} ORDER BY id", values).fetchall()  # noqa: S608
        return still_open(json.loads(item) for (item,) in rows)

    def recall(self, item_id: str, *, thread: str | None) -> dict[str, Any] | None:
        """See `Store.recall`."""
        with self._connected() as database:
            query = "SELECT item FROM unfinished WHERE thread = ? AND name = ?"
            row = database.execute(query, (_thread(thread), _blob(item_id))).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def resolve(self, item_id: str, *, thread: str | None) -> None:
        """See `Store.resolve`."""
        with self._transaction() as database:
            database.execute("DELETE FROM unfinished WHERE thread = ? AND name = ?", (_thread(thread), _blob(item_id)))

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        opened = self._opened.pop(os.getpid(), None)
        if opened is not None:
            with opened.lock:
                opened.connection.close()

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._connected() as database, _immediate(database):
            yield database

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        opened = self._handle()
        if not opened.lock.acquire(timeout=self._patience):
            raise StoreUnavailable(f"{self._path}: busy for {self._patience:g} s")
        try:
            yield opened.connection
        except sqlite3.Error as error:
            raise self._unavailable(error) from error
        finally:
            opened.lock.release()

    def _handle(self) -> _Open:
        """This process's connection: none may be carried over a fork, not even to be closed."""
        opened = self._opened.get(os.getpid())
        if opened is None:
            mine = _Open(self._open())
            opened = self._opened.setdefault(os.getpid(), mine)
            if opened is not mine:
                mine.connection.close()
        return opened

    def _open(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self._path, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self._unavailable(error) from error
        try:
            connection.execute("PRAGMA synchronous = FULL")
            with _immediate(connection):
                self._adopt(connection)
            _switch_to_wal(connection)
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.Error):
                raise self._unavailable(error) from error
            raise
        return connection

    def _adopt(self, connection: sqlite3.Connection) -> None:
        """Make the tables in an empty file; refuse a file that is somebody else's, or from the future."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION:
            if version > VERSION:
                raise StoreUnavailable(
                    f"{self._path} has schema {version}, this langgraph_degrade knows {VERSION}: upgrade it, or name a new file"
                )
            return
        if application or version or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreUnavailable(f"{self._path} belongs to something else: give the store a file of its own")
        for statement in _SCHEMA:
            connection.execute(statement)

    def _unavailable(self, error: sqlite3.Error) -> StoreUnavailable:
        return StoreUnavailable(f"{self._path}: {error}")


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Generator[None]:
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Once per file. The pragma doesn't wait for others as everything else does, so we do; without WAL it works too."""
    for _ in range(10):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            with _immediate(connection):
                continue
        return


def _prune(database: sqlite3.Connection, table: str, now: float) -> None:
    rows = f"SELECT id FROM {table} WHERE until < ? LIMIT {PRUNED}"  # noqa: S608 (both are ours)
    database.execute(f"DELETE FROM {table} WHERE id IN ({rows})", (now,))  # noqa: S608


def _claim(row: tuple[Any, ...], key: ClaimKey) -> Claim:
    number, call, ordinal, state, owner, at, result = row
    mine = replace(key, tool_call_id=_text(call))
    return Claim(number, mine, ordinal, state if state in KNOWN else "unknown", owner, at, result)


def _thread(thread: str | None) -> bytes:
    return _blob(thread) or b""


def _blob(text: str | None) -> bytes | None:
    """Names come from models and users: any string, lone surrogates too, which TEXT can't hold."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _text(blob: bytes | None) -> str | None:
    return None if blob is None else blob.decode("utf-8", "surrogatepass")
