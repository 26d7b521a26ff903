"""What the caller knows about an outcome and its body doesn't say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol

Source = Literal["tool", "model"]


class Envelope(Protocol):
    """How a target wraps its replies: `policy.EnvelopePolicy` is one (case X02)."""

    @property
    def code(self) -> str: ...
    @property
    def success(self) -> tuple[Any, ...]: ...
    @property
    def transient(self) -> tuple[Any, ...]: ...
    @property
    def business(self) -> tuple[Any, ...]: ...
    @property
    def data(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def nullable(self) -> bool: ...


class Terms(NamedTuple):
    """The keywords of `classify`, handed on unchanged."""

    source: Source = "tool"
    envelope: Envelope | None = None
    allow_empty: bool = False
    expects_finish: bool = True
    now: float | None = None

    def moment(self) -> float:
        """Unix time against which absolute moments are measured."""
        if self.now is not None:
            return self.now
        # The engine's clock stands above this room, and `classify` has to work without one.
        return datetime.now(UTC).timestamp()  # noqa: TID251
