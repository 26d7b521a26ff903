"""A progress bar on standard error; silent where nobody is watching a terminal."""

from __future__ import annotations

import sys
import threading


class Progress:
    """Counts steps from any thread and redraws one line."""

    def __init__(self, steps: int, what: str) -> None:
        self._steps = steps
        self._what = what
        self._done = 0
        self._lock = threading.Lock()
        self._shown = sys.stderr.isatty()
        self._draw()

    def step(self) -> None:
        """Note that one more step is done."""
        with self._lock:
            self._done += 1
            self._draw()

    def _draw(self) -> None:
        if self._shown:
            filled = 40 * self._done // self._steps
            bar = f"[{'#' * filled}{'.' * (40 - filled)}] {self._done}/{self._steps} {self._what}"
            end = "\n" if self._done == self._steps else ""
            print(f"\r{bar}", end=end, file=sys.stderr, flush=True)
