"""Whose turn it is to probe a target, and what was found: for several processes, or several `Degrader`s in one.

Each is an `engine.patrol.Leases`.
"""

from __future__ import annotations

import threading

from langgraph_degrade.store.sqlite import SqliteStore

_TAKE = """INSERT INTO probe_leases (name, owner, until) VALUES (:name, :owner, :until)
    ON CONFLICT (name) DO UPDATE SET owner = :owner, until = :until
    WHERE owner = :owner OR until <= :now OR until > :never"""


class MemoryLeases:
    """Among the `Degrader`s of one process.

    Example:
        >>> leases = MemoryLeases()
        >>> leases.try_hold("model:main", "a", 60.0, now=0.0), leases.try_hold("model:main", "b", 60.0, now=59.0)
        (True, False)
    """

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, float]] = {}
        self._notes: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def try_hold(self, name: str, owner: str, seconds: float, now: float) -> bool:
        """See `Leases.try_hold`."""
        with self._lock:
            holder, until = self._held.get(name, (owner, now))
            if holder != owner and until > now:
                return False
            self._held[name] = (owner, now + seconds)
            return True

    def publish(self, name: str, owner: str, note: str, now: float) -> None:
        """See `Leases.publish`."""
        with self._lock:
            if self._held.get(name, ("", 0.0))[0] == owner:
                self._notes[name] = (note, now)

    def published(self, name: str) -> tuple[str, float] | None:
        """See `Leases.published`."""
        return self._notes.get(name)


class SqliteLeases:
    """Among the processes of one machine, in the file of their `SqliteStore`. Raises `StoreUnavailable` as that does.

    Example:
        >>> import tempfile
        >>> store = SqliteStore(f"{tempfile.mkdtemp()}/degrade.db")
        >>> leases = SqliteLeases(store)
        >>> leases.try_hold("model:main", "a", 60.0, now=0.0), leases.try_hold("model:main", "b", 60.0, now=59.0)
        (True, False)
        >>> store.close()
    """

    def __init__(self, store: SqliteStore) -> None:
        self._transaction = store._transaction  # noqa: SLF001 - the same file, in the same room
        with self._transaction() as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS probe_leases"
                " (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL, note TEXT, at REAL)"
            )

    def try_hold(self, name: str, owner: str, seconds: float, now: float) -> bool:
        """See `Leases.try_hold`. A lease from the far future is one from before the clock was set back."""
        row = {"name": name, "owner": owner, "until": now + seconds, "now": now, "never": now + 2 * seconds}
        with self._transaction() as database:
            return database.execute(_TAKE, row).rowcount == 1

    def publish(self, name: str, owner: str, note: str, now: float) -> None:
        """See `Leases.publish`."""
        with self._transaction() as database:
            database.execute(
                "UPDATE probe_leases SET note = ?, at = ? WHERE name = ? AND owner = ?", (note, now, name, owner)
            )

    def published(self, name: str) -> tuple[str, float] | None:
        """See `Leases.published`."""
        with self._transaction() as database:
            found = database.execute("SELECT note, at FROM probe_leases WHERE name = ?", (name,)).fetchone()
        return None if found is None or found[0] is None else (found[0], found[1])
