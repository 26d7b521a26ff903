"""The state of the contract, as pytest prints it: which row is shown by how many passing tests.

`pytest -m row` ends with one line a row. A test that names a row or a case the way nobody else does is refused at
collection, and a skipped or expected failure fails the run: this suite brings everything it needs.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

ROWS = {
    f"{letter}{number}"
    for letter, last in {
        "R": 5, "T": 9, "F": 3, "B": 8, "D": 2, "P": 3, "L": 1, "E": 6, "M": 7,
        "C": 5, "A": 5, "H": 2, "S": 3, "K": 2, "O": 4, "X": 4, "Z": 2,
    }.items()
    for number in range(1, last + 1)
}  # fmt: skip
CASE = re.compile(r"case-[A-Z]+\d+[a-z]?")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Contract(), "contract")


class Contract:
    """Counts outcomes by row while the run goes on."""

    def __init__(self) -> None:
        self._rows: dict[str, set[str]] = {}
        self._outcomes: dict[str, Counter[str]] = defaultdict(Counter)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            self._rows[item.nodeid] = set(_names(item, "row"))
            unknown = self._rows[item.nodeid] - ROWS
            unknown |= {case for case in _names(item, "case") if not CASE.fullmatch(case)}
            if unknown:
                raise pytest.UsageError(f"{item.nodeid}: no such row or case: {', '.join(sorted(unknown))}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            for row in self._rows.get(report.nodeid, ()):
                self._outcomes[row][report.outcome] += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.OK and _left_out(session.config):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if terminalreporter.config.option.markexpr == "row":
            terminalreporter.section("the contract, row by row")
            for row in sorted(ROWS, key=lambda name: (name[0], int(name[1:]))):
                terminalreporter.line(f"{row:<3} {_line(self._outcomes.get(row, Counter()))}")
        if _left_out(terminalreporter.config):
            terminalreporter.line("a skipped test is a failed run here: nothing a test needs may be missing", red=True)


def _names(item: pytest.Item, marker: str) -> Iterator[str]:
    for mark in item.iter_markers(marker):
        yield from mark.args


def _line(outcomes: Counter[str]) -> str:
    if not outcomes:
        return "-"
    bad = outcomes["failed"] + outcomes["skipped"]
    return f"{outcomes['passed']:>4} passed" + (f", {bad} not" if bad else "")


def _left_out(config: pytest.Config) -> bool:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter is not None and any(reporter.stats.get(kind) for kind in ("skipped", "xfailed", "xpassed"))
