"""Whose turn it is to probe a target, and what was found: for processes on many machines, through Redis (spec S3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph_degrade.engine.clock import SystemClock

if TYPE_CHECKING:
    from langgraph_degrade.engine.clock import Clock

KEPT = 86_400_000
"""Milliseconds a note is kept after the last one ○."""

_HOLD = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
_PUBLISH = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local now = redis.call('TIME')
redis.call('HSET', KEYS[2], 'note', ARGV[2], 'at', now[1] .. '.' .. string.format('%06d', now[2]))
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
"""
_PUBLISHED = """
local found = redis.call('HMGET', KEYS[1], 'note', 'at')
local now = redis.call('TIME')
return {found[1], found[2], now[1] .. '.' .. string.format('%06d', now[2])}
"""


class RedisLeases:
    """An `engine.patrol.Leases`: `Degrader(policy, leases=RedisLeases(client))`.

    Time is the server's alone, so that the machines' clocks need not agree. Each method makes one round trip, of the
    prober and never of a call, and raises what `client` raises; then each process probes for itself. Give the client a
    `socket_timeout`: a server that hangs is otherwise given up after 2 s, and its thread with it.
    """

    def __init__(self, client: Any, *, prefix: str = "degrade:", clock: Clock | None = None) -> None:
        """Take a client.

        Args:
            client: a `redis.Redis`, sync; it stays the application's to close. With Redis Cluster, `prefix` needs a
                hash tag: `{degrade}:`.
            prefix: of every key; what shares it shares probers.
            clock: the application's own, where that is not the machine's.
        """
        self._prefix = prefix
        self._clock = clock or SystemClock()
        self._hold, self._publish, self._published = map(client.register_script, (_HOLD, _PUBLISH, _PUBLISHED))

    def try_hold(self, name: str, owner: str, seconds: float, now: float) -> bool:  # noqa: ARG002 - the server's time counts
        """See `Leases.try_hold`."""
        return bool(self._hold(keys=[self._key("prober", name)], args=[owner, max(1, round(seconds * 1000))]))

    def publish(self, name: str, owner: str, note: str, now: float) -> None:  # noqa: ARG002 - as above
        """See `Leases.publish`."""
        self._publish(keys=[self._key("prober", name), self._key("health", name)], args=[owner, note, KEPT])

    def published(self, name: str) -> tuple[str, float] | None:
        """See `Leases.published`."""
        note, at, now = self._published(keys=[self._key("health", name)])
        if note is None or at is None:
            return None
        return _text(note), self._clock.time() - max(0.0, float(now) - float(at))

    def _key(self, what: str, name: str) -> str:
        return f"{self._prefix}{what}:{name}"


def _text(found: bytes | str) -> str:
    return found.decode() if isinstance(found, bytes) else found
