"""One figure of a benchmark, its budget, and whether it held."""

from __future__ import annotations

from dataclasses import dataclass

MICRO = 1e6
"""Microseconds in a second."""


@dataclass(frozen=True)
class Row:
    """One figure. Without a budget it is there for comparison."""

    what: str
    figure: float | None = None
    unit: str = "µs"
    budget: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.figure is None:
            return "missing"
        if self.budget is None:
            return ""
        return "ok" if self.figure <= self.budget else "OVER"

    def cells(self) -> tuple[str, ...]:
        figure = "" if self.figure is None else f"{self.figure:.2f} {self.unit}"
        budget = "" if self.budget is None else f"{self.budget:g} {self.unit}"
        return self.what, figure, budget, self.verdict, self.note
