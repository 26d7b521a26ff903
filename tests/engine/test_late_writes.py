"""Writes that come home after they were given up: what becomes known is told, and nothing is sent on what is not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from langgraph_degrade import Degrader, Policy, ToolResult
from langgraph_degrade.store import MemoryStore, SqliteStore
from langgraph_degrade.testing import Delay, FakeClock, Scripted, scripted
from tests.conftest import Both

pytestmark = pytest.mark.row("E4")

TOOL = "refund_late"
POLICY = {"tools": {TOOL: {"effect": "write", "timeout": "3s", "verify": "look"}}}
THREAD = "thread-1"


def cannot_tell(args: Any, config: Any) -> None:
    """A look that finds nothing out."""


class Home(logging.Handler):
    """Hears the last word on a write that came home late."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "given up after its timeout" in record.msg and TOOL in record.getMessage():
            self.reached.set()


class Shop:
    """A sync tool, called by the agent of the test's colour, that takes the scripted steps."""

    def __init__(
        self,
        both: Both,
        clock: FakeClock,
        store: Any,
        steps: list[Any],
        *,
        verify: Callable[..., bool | None] = cannot_tell,
    ) -> None:
        self.backend: Scripted = scripted(steps, clock=clock)
        self._both, self._clock = both, clock
        self._degrader = Degrader(Policy.model_validate(POLICY), store=store, clock=clock)
        self._degrader.register(look=verify)

        def refund(order: str) -> Any:
            """Refund an order."""
            return self.backend(order)

        self._tool = self._degrader.tool(StructuredTool.from_function(refund, name=TOOL))

    def refund(self, call_id: str, order: str = "SO-1001") -> ToolResult:
        call = {"name": TOOL, "args": {"order": order}, "id": call_id, "type": "tool_call"}
        with self._degrader.scope(thread=THREAD) as scope:
            scope.adopt({}, "turn-1", THREAD)
            result = ToolResult.of(self._both.call(self._tool, "invoke", call))
        assert result is not None
        return result


@pytest.fixture
def late(clock: FakeClock) -> Iterator[Callable[[], None]]:
    """Lets the time pass until a late write is home."""
    home, log = Home(), logging.getLogger("langgraph_degrade")
    log.addHandler(home)

    def wait() -> None:
        clock.sleep(2.0)
        assert home.reached.wait(10)

    yield wait
    log.removeHandler(home)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "s.db")
    yield made
    made.close()


@pytest.mark.case("case-W01")
def test_a_write_that_came_home_late_is_told_and_not_sent_again(
    both: Both, clock: FakeClock, store: Any, late: Any
) -> None:
    """The model was told that nobody knows, and asks once more: that is no intentional second write."""
    shop = Shop(both, clock, store, [Delay(4.5, {"refund": "R-1"})])
    assert shop.refund("call-1").status == "unknown"
    late()
    again = shop.refund("call-2")
    assert (again.status, again.source) == ("ok", "verified")
    assert len(shop.backend.calls) == 1


@pytest.mark.case("case-W01")
def test_once_told_the_same_write_again_is_an_intentional_second_one(
    both: Both, clock: FakeClock, store: Any, late: Any
) -> None:
    shop = Shop(both, clock, store, [Delay(4.5, {"refund": "R-1"}), {"refund": "R-2"}])
    shop.refund("call-1")
    late()
    shop.refund("call-2")
    assert shop.refund("call-3").data == {"refund": "R-2"}


@pytest.mark.row("R2")
def test_what_came_home_late_is_no_longer_unfinished(both: Both, clock: FakeClock, store: Any, late: Any) -> None:
    """Or whoever works the list off would do it a second time."""
    shop = Shop(both, clock, store, [ConnectionResetError(), Delay(4.5, {"refund": "R-1"})])
    shop.refund("call-1", order="SO-1001")
    shop.refund("call-2", order="SO-1002")
    late()
    assert [item["what"] for item in store.unfinished(THREAD)] == ['refund_late(order="SO-1001")']


def test_a_reply_that_comes_in_during_the_look_is_told(both: Both, clock: FakeClock, store: Any, late: Any) -> None:
    shop = Shop(both, clock, store, [Delay(4.5, {"refund": "R-1"})], verify=lambda args, config: late())
    only = shop.refund("call-1")
    assert (only.status, only.source) == ("ok", "verified")
    assert store.unfinished(THREAD) == []


@pytest.mark.row("R2")
def test_what_a_look_found_done_is_no_longer_unfinished(both: Both, clock: FakeClock, store: Any) -> None:
    seen = iter([None, True])
    shop = Shop(both, clock, store, [ConnectionResetError()], verify=lambda args, config: next(seen))
    assert shop.refund("call-1").status == "unknown"
    assert len(store.unfinished(THREAD)) == 1
    assert shop.refund("call-2").source == "verified"
    assert store.unfinished(THREAD) == []
