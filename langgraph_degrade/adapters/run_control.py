"""The control of a wrapped run: it ends at the session's deadline, and when the caller's own control says so."""

from __future__ import annotations

from collections.abc import Callable

from langgraph.runtime import RunControl

from langgraph_degrade.engine import ambient

OUR_TIME = "degrade: session time is over"


class Linked(RunControl):
    """Drains when the session time is over, or when the caller's own control says so."""

    __slots__ = ("_deadline", "_now", "_outer")

    def __init__(self, own: RunControl | None, now: Callable[[], float], deadline: float | None) -> None:
        """`own`: what the caller passed; else the control of the run the caller is in, if it is in one."""
        super().__init__()
        here = ambient.runtime() if own is None else None
        self._outer = own if here is None else here.control
        self._now, self._deadline = now, deadline

    @property
    def drain_requested(self) -> bool:
        return self.drain_reason is not None

    @property
    def drain_reason(self) -> str | None:
        if self._outer is not None and self._outer.drain_requested:
            return self._outer.drain_reason
        if self._deadline is not None and self._now() >= self._deadline:
            return OUR_TIME
        return super().drain_reason

    def request_drain(self, reason: str = "shutdown") -> None:
        """A node that asks for the end means the caller's run, too."""
        if self._outer is None:
            super().request_drain(reason)
        else:
            self._outer.request_drain(reason)
