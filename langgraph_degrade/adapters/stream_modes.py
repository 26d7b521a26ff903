"""Stream modes of a wrapped run: what the caller asked for, plus `values`, from which an ending is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

HIDDEN = ("values", "updates")


class Modes:
    """Asks for the caller's modes and two more, shows the caller his own in the shape he asked for."""

    def __init__(self, asked: str | Sequence[str], *, subgraphs: bool, version: str) -> None:
        self._single = isinstance(asked, str)
        self._wanted = [asked] if isinstance(asked, str) else list(asked)
        self._subgraphs = subgraphs
        self._v2 = version == "v2"
        self.asked = [*self._wanted, *(mode for mode in HIDDEN if mode not in self._wanted)]
        self.state: Any = None
        """The root graph's last known state."""
        self.latest: list[Any] = []
        """Messages written since that state was seen."""
        self.began = False

    def seen(self, chunk: Any) -> Iterator[Any]:
        """Note what `chunk` tells, and pass it on if the caller asked for it."""
        self.began = True
        namespace, mode, data = self._parts(chunk)
        if mode == "values" and not namespace:
            self.state, self.latest = data, []
        elif mode == "updates" and not namespace and isinstance(data, dict):
            self.latest += [message for update in data.values() for message in _messages(update)]
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


def _messages(update: Any) -> Sequence[Any]:
    found = update.get("messages") if isinstance(update, dict) else None
    if found is None:
        return ()
    return found if isinstance(found, list) else [found]
