"""Stream modes of a wrapped run: what the caller asked for, plus those from which an ending is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

HIDDEN = ("values", "tasks")


class Modes:
    """Asks for the caller's modes and two more, shows the caller his own in the shape he asked for."""

    def __init__(self, asked: str | Sequence[str], *, subgraphs: bool, version: str) -> None:
        self._single = isinstance(asked, str)
        self._wanted = [asked] if isinstance(asked, str) else list(asked)
        self._subgraphs = subgraphs
        self._v2 = version == "v2"
        self.asked = [*self._wanted, *(mode for mode in HIDDEN if mode not in self._wanted)]
        self.state: Any = None
        """The root graph's last known state, in the shape of its `values`."""
        self.told: set[str] = set()
        """Tasks of the root graph whose results the stream has told."""
        self.settled: set[str] = set()
        """Those of them that `state` holds."""
        self.spoken: set[str | None] = set()
        """Ids of the messages shown in `messages` mode."""

    def seen(self, chunk: Any) -> Iterator[Any]:
        """Note what `chunk` tells, and pass it on if the caller asked for it."""
        namespace, mode, data = self._parts(chunk)
        if not namespace:
            self._note(mode, data, is_interrupt=self._v2 and bool(chunk.get("interrupts")))
        if mode in self._wanted:
            yield chunk if self._v2 else self._shaped(namespace, mode, data)

    def make(self, mode: str, data: Any) -> Any:
        """A chunk of our own, of the root graph."""
        if self._v2:
            part = {"type": mode, "ns": (), "data": data}
            return part | {"interrupts": ()} if mode == "values" else part
        return self._shaped((), mode, data)

    @property
    def wanted(self) -> Sequence[str]:
        """The caller's own modes."""
        return self._wanted

    def _note(self, mode: str, data: Any, *, is_interrupt: bool) -> None:
        if mode == "tasks" and "result" in data:
            self.told.add(data["id"])
        elif mode == "values" and not is_interrupt and not _is_interrupt(data):
            self.state = data
            self.settled = set(self.told)
        elif mode == "messages":
            self.spoken.add(getattr(data[0], "id", None))

    def _parts(self, chunk: Any) -> tuple[tuple[str, ...], str, Any]:
        if self._v2:
            return tuple(chunk["ns"]), chunk["type"], chunk["data"]
        if self._subgraphs:
            namespace, mode, data = chunk
            return namespace, mode, data
        mode, data = chunk
        return (), mode, data

    def _shaped(self, namespace: tuple[str, ...], mode: str, data: Any) -> Any:
        parts = ([namespace] if self._subgraphs else []) + ([] if self._single else [mode]) + [data]
        return parts[0] if len(parts) == 1 else tuple(parts)


def _is_interrupt(data: Any) -> bool:
    # Shown with the state before the step, whose other results it leaves out.
    return isinstance(data, dict) and "__interrupt__" in data
