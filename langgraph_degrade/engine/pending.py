"""`Pending`: a call under way, what came of it, and who is to be told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langgraph_degrade.engine.bulkhead import Bulkhead
from langgraph_degrade.engine.clock import Clock

_log = logging.getLogger("langgraph_degrade")


@dataclass(frozen=True, slots=True)
class Late:
    """What a call did after nobody waited for it any more: it gave a value, or ended with an error."""

    value: Any
    error: BaseException | None
    elapsed: float
    """Seconds from the start of the call to its real end."""


class Pending:
    """One call under way. Its outcome goes to the caller or, once abandoned, to `on_late`; never to both."""

    __slots__ = ("_clock", "_on_late", "_started", "abandoned", "bulkhead", "error", "value")

    def __init__(self, clock: Clock, bulkhead: Bulkhead | None, on_late: Callable[[Late], None] | None) -> None:
        self._clock = clock
        self._on_late = on_late
        self._started = clock.monotonic()
        self.bulkhead = bulkhead
        self.abandoned = False
        self.value: Any = None
        self.error: BaseException | None = None

    def result(self) -> Any:
        """Return the value or raise the error, with the traceback it came with."""
        error, self.error = self.error, None
        if error is None:
            return self.value
        try:
            raise error
        finally:
            del error  # or the frame in its own traceback would keep it alive

    def count(self) -> None:
        """Count the call as abandoned, for as long as it runs on."""
        if self.bulkhead is not None:
            self.bulkhead.abandon()

    def end_late(self) -> None:
        """Take an abandoned call off the count and tell what it did."""
        if self.bulkhead is not None:
            self.bulkhead.forget()
        self.tell()

    def tell(self) -> None:
        """Hand the outcome to `on_late`, whose own errors end here: nobody is left to catch them."""
        late = Late(self.value, self.error, self._clock.monotonic() - self._started)
        self.value = self.error = None
        if self._on_late is None:
            return
        try:
            self._on_late(late)
        except Exception as error:
            _log.error("on_late failed: %s", type(error).__name__)  # not its text: that may hold the tool's data
