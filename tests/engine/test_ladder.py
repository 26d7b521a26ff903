"""The ladder, the budget and the episode, through `Degrader.guard` in both colours."""

from __future__ import annotations

import itertools
import json
import logging
from typing import Any

import pytest

from langgraph_degrade import (
    CircuitOpen,
    DeadlineExceeded,
    DegradeContext,
    Degrader,
    LadderExhausted,
    Policy,
    UnknownOutcome,
)
from langgraph_degrade.testing import Delay, FakeClock, Hang, scripted
from tests.conftest import Both

READ = {"effect": "read", "timeout": "3s"}


class Refused(Exception):
    """What an HTTP client raises for a status."""

    def __init__(self, status: int, retry_after: float | None = None) -> None:
        super().__init__("secret-token-in-the-text")
        self.status_code = status
        self.headers = {} if retry_after is None else {"retry-after": str(retry_after)}


class Case:
    """One degrader on the test's clock, and calls in the test's colour inside one request."""

    def __init__(self, both: Both, clock: FakeClock, **targets: Any) -> None:
        self.both, self.clock = both, clock
        self.events: list[Any] = []
        self.degrader = Degrader(
            Policy.model_validate({"targets": targets}), clock=clock, listeners=[self.events.append]
        )

    def target(self, *steps: Any) -> Any:
        return scripted(steps, colour=self.both.colour, clock=self.clock)

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """One call; what it raised is returned."""

        async def one() -> Any:
            try:
                return await fn(*args, **kwargs) if self.both.colour == "async" else fn(*args, **kwargs)
            except Exception as error:
                return error

        return self.both.run(one())

    @property
    def trail(self) -> list[tuple[str, str | None, str]]:
        """(kind, direction, outcome) of every event."""
        return [(event.kind, event.direction, event.outcome) for event in self.events]


@pytest.mark.row("T1")
@pytest.mark.parametrize("fault", [ConnectionResetError(), Hang()])
def test_a_transient_fault_is_tried_again_once_and_quickly(both: Both, clock: FakeClock, fault: Any) -> None:
    case = Case(both, clock, stock=READ)
    target = case.target(fault, 7)
    began = clock.monotonic()
    assert case.call(case.degrader.guard("stock")(target)) == 7
    assert len(target.calls) == 2
    spent = clock.monotonic() - began
    assert spent <= 3.0 + 0.05  # its timeout, and the pause before a quick retry
    assert [outcome for _, _, outcome in case.trail] == ["retried"]


@pytest.mark.row("T1")
@pytest.mark.case("case-P02")
@pytest.mark.parametrize("status", [429, 503, 500, 502])
def test_rate_limits_and_server_errors_are_not_tried_again(both: Both, clock: FakeClock, status: int) -> None:
    """Where the case wants a retry of its 429, spec T1 says none; the spec wins."""
    case = Case(both, clock, stock=READ)
    target = case.target(Refused(status))
    assert isinstance(case.call(case.degrader.guard("stock")(target)), Refused)
    assert len(target.calls) == 1


@pytest.mark.row("T1")
def test_other_5xx_get_one_retry_where_the_policy_says_so(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, stock={**READ, "retry_server_errors": True})
    target = case.target(Refused(500), Refused(500))
    assert isinstance(case.call(case.degrader.guard("stock")(target)), Refused)
    assert len(target.calls) == 2


@pytest.mark.row("T1")
@pytest.mark.parametrize(
    "policy", [{**READ, "timeout": "4s"}, {"effect": "read"}, {"effect": "write", "timeout": "3s"}, {}]
)
def test_slow_undeclared_and_writing_targets_are_not_tried_again(both: Both, clock: FakeClock, policy: Any) -> None:
    case = Case(both, clock, **({"stock": policy} if policy else {}))
    target = case.target(ConnectionResetError("reset"))
    assert isinstance(case.call(case.degrader.guard("stock")(target)), ConnectionResetError | UnknownOutcome)
    assert len(target.calls) == 1


@pytest.mark.row("T1")
@pytest.mark.case("case-P05")
def test_a_retry_after_closes_the_target_for_everybody_and_nobody_sleeps_on_it(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, stock=READ)
    target = case.target(Refused(429, retry_after=30), 7)
    guarded = case.degrader.guard("stock")(target)
    began = clock.monotonic()
    case.call(guarded)
    refused = case.call(guarded)
    assert isinstance(refused, CircuitOpen)
    assert refused.retry_after == pytest.approx(30)
    assert clock.monotonic() == began
    clock.advance(30)
    assert case.call(guarded) == 7


@pytest.mark.row("T2")
@pytest.mark.case("case-R01")
def test_one_budget_of_retries_for_the_whole_request(both: Both, clock: FakeClock) -> None:
    names = [f"part{number}" for number in range(6)]
    case = Case(both, clock, **{name: {**READ, "breakers": []} for name in names})
    targets = [scripted(itertools.repeat(ConnectionResetError()), colour=both.colour, clock=clock) for _ in names]
    guarded = [case.degrader.guard(name)(target) for name, target in zip(names, targets, strict=True)]
    with case.degrader.scope():
        for call in guarded:
            case.call(call)
    assert sum(len(target.calls) for target in targets) == 6 + 3


@pytest.mark.row("T2")
def test_eight_seconds_of_failing_end_the_retries_but_not_the_request(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, slow=READ)
    target = case.target(
        Delay(2.9, Refused(500)), Delay(2.9, Refused(500)), Delay(2.9, Refused(500)), ConnectionResetError(), 7
    )
    guarded = case.degrader.guard("slow")(target)
    with case.degrader.scope():
        for _ in range(3):
            case.call(guarded)
        assert isinstance(case.call(guarded), ConnectionResetError)  # 8.7 s spent: no retry
        assert case.call(guarded) == 7
    assert len(target.calls) == 5


@pytest.mark.row("T3")
@pytest.mark.case("case-M07")
def test_an_attempt_never_outlives_the_session(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, slow=READ)
    guarded = case.degrader.guard("slow")(case.target(Hang(), 7))
    began = clock.monotonic()
    with case.degrader.scope(session=2.0):
        assert isinstance(case.call(guarded), DeadlineExceeded)
        assert clock.monotonic() - began == pytest.approx(2.0)
        assert isinstance(case.call(guarded), DeadlineExceeded)
    assert case.call(guarded) == 7  # one Hang was called, the second call never was


@pytest.mark.row("T3")
@pytest.mark.case("case-B07")
def test_the_requests_own_deadline_is_not_the_targets_failure(both: Both, clock: FakeClock) -> None:
    rule = {"consecutive": 1, "min_calls": 1, "rate": 0.01}
    case = Case(both, clock, slow={**READ, "breakers": [rule]})
    guarded = case.degrader.guard("slow")(case.target(Hang(), 7))
    with case.degrader.scope(session=1.0):
        assert isinstance(case.call(guarded), DeadlineExceeded)
    assert case.call(guarded) == 7
    assert [kind for kind, _, _ in case.trail] == ["deadline"]


@pytest.mark.row("T6")
def test_a_complex_query_may_take_longer(both: Both, clock: FakeClock) -> None:
    timeout = {"basic": "3s", "complex": "10s", "complex_when": ["history"]}
    case = Case(both, clock, report={"effect": "read", "timeout": timeout})

    def report(sku: str, history: bool = False) -> str:
        raise NotImplementedError

    inner = case.target(Delay(5, "long"), Delay(5, "by word"), Delay(5, "cut"), Delay(5, "cut"))

    @case.degrader.guard("report")
    def sync(sku: str, history: bool = False) -> Any:
        return inner(sku)

    @case.degrader.guard("report")
    async def coro(sku: str, history: bool = False) -> Any:
        return await inner(sku)

    guarded: Any = sync if both.colour == "sync" else coro
    assert case.call(guarded, "A", history=True) == "long"
    with case.degrader.query("complex"):
        assert case.call(guarded, "A") == "by word"
    assert isinstance(case.call(guarded, "A"), TimeoutError)


@pytest.mark.row("T8")
def test_every_retry_logs_attempt_last_error_and_trace(
    both: Both, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    case = Case(both, clock, stock=READ)
    with caplog.at_level(logging.INFO, "langgraph_degrade"):
        case.call(case.degrader.guard("stock")(case.target(ConnectionResetError("secret"), 7)))
    retry = next(record for record in caplog.records if record.message.startswith("retry"))
    assert (retry.attempt_count, bool(retry.last_error), bool(retry.trace_id)) == (1, True, True)  # type: ignore[attr-defined]
    assert "secret" not in caplog.text


@pytest.mark.row("D1")
def test_params_asks_once_more_with_less(both: Both, clock: FakeClock) -> None:
    simpler = {"drop": ["track"], "set": {"page_size": 1}}
    case = Case(both, clock, order={**READ, "timeout": "4s", "params": simpler})
    target = case.target(TimeoutError(), "basic status")
    assert case.call(case.degrader.guard("order")(target), order="SO-1", track=True) == "basic status"
    assert target.calls[1].kwargs == {"order": "SO-1", "page_size": 1}
    assert case.trail == [("timeout", "params", "partial")]


@pytest.mark.row("D1")
@pytest.mark.row("B5")
@pytest.mark.parametrize("fault", [Refused(429), Refused(503), json.JSONDecodeError("x", "y", 0)])
def test_params_is_skipped_where_it_would_fail_the_same_way(both: Both, clock: FakeClock, fault: Exception) -> None:
    case = Case(both, clock, order={**READ, "params": {"drop": ["track"]}})
    target = case.target(fault)
    assert case.call(case.degrader.guard("order")(target), order="SO-1", track=True) is fault
    assert len(target.calls) == 1


@pytest.mark.row("B5")
def test_an_open_breaker_goes_straight_to_data(both: Both, clock: FakeClock) -> None:
    rule = {"consecutive": 1, "min_calls": 1}
    policy = {
        **READ,
        "timeout": "4s",
        "breakers": [rule],
        "params": {"drop": ["track"]},
        "cache": {"ttl": "60s", "scope": "shared"},
    }
    case = Case(both, clock, order=policy)
    target = case.target("fresh", Refused(503))
    guarded = case.degrader.guard("order")(target)
    for _ in range(3):
        assert case.call(guarded, order="SO-1", track=True) == "fresh"
    assert len(target.calls) == 2
    assert case.trail == [("overloaded", "data", "stale"), ("open", "data", "stale")]


@pytest.mark.row("D2")
@pytest.mark.row("B6")
def test_an_alternative_endpoint_has_a_breaker_of_its_own(both: Both, clock: FakeClock) -> None:
    rule = {"consecutive": 2, "min_calls": 2}
    case = Case(both, clock, stock={**READ, "endpoints": ["primary", "second"], "breakers": [rule]})
    second = case.target("from second", Refused(503), Refused(503))
    case.degrader.register(second=second)
    primary = case.target(*[Refused(503)] * 2)
    guarded = case.degrader.guard("stock")(primary)
    assert case.call(guarded) == "from second"
    assert isinstance(case.call(guarded), LadderExhausted)
    assert isinstance(case.call(guarded), LadderExhausted)  # primary's breaker is open, second's is not yet
    last = case.call(guarded)
    assert isinstance(last, LadderExhausted)
    assert [type(error) for error in last.exceptions] == [CircuitOpen, CircuitOpen]
    assert (len(primary.calls), len(second.calls)) == (2, 3)


@pytest.mark.row("D2")
def test_an_offline_computation_is_openly_partial(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, geo={**READ, "offline": "estimate"})
    case.degrader.register(estimate=case.target((31.2, 121.5)))
    assert case.call(case.degrader.guard("geo")(case.target(Refused(503))), "Pudong") == (31.2, 121.5)
    assert case.trail == [("overloaded", "data", "partial")]


@pytest.mark.row("S1")
def test_a_backup_is_not_flooded_with_the_whole_traffic(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, stock={**READ, "endpoints": ["primary", "second"], "breakers": []})
    second = scripted(itertools.repeat("ok"), colour=both.colour, clock=clock)
    case.degrader.register(second=second)
    guarded = case.degrader.guard("stock")(scripted(itertools.repeat(Refused(503)), colour=both.colour, clock=clock))
    for _ in range(2000):
        case.call(guarded)
        clock.advance(0.01)
    assert 0.3 * 2000 <= len(second.calls) <= 0.52 * 2000


@pytest.mark.row("R5")
def test_a_later_stage_joins_the_episode_without_a_retry_at_the_rung_reached(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, order={**READ, "cache": {"ttl": "60s", "scope": "shared"}}, answer=READ)
    order = case.degrader.guard("order")(case.target("fresh", Refused(503)))
    answer_target = case.target(ConnectionResetError(), "never asked again")
    answer = case.degrader.guard("answer", stage="answer", fallbacks=[case.target("template")])(answer_target)
    case.call(order)
    with case.degrader.scope() as scope:
        assert case.call(order) == "fresh"
        assert case.call(answer) == "template"
        assert (scope.context.level, scope.context.depth) == (2, 1)
    assert len(answer_target.calls) == 1
    assert case.trail == [("overloaded", "data", "stale"), ("connection", "data", "ok")]


@pytest.mark.row("R5")
def test_depth_counts_escalations_and_the_fourth_is_a_hand_off(clock: FakeClock) -> None:
    context = DegradeContext()
    assert [context.raise_to(level, 3) for level in (1, 1, 2, 2, 3, 5)] == [True, True, True, True, True, False]
    assert (context.level, context.depth) == (3, 3)


@pytest.mark.row("R2")
def test_one_structured_record_holds_the_whole_chain(
    both: Both, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    case = Case(both, clock, order={**READ, "cache": {"ttl": "60s", "scope": "shared"}}, stock=READ)
    order = case.degrader.guard("order")(case.target("fresh", Refused(503)))
    case.call(order)
    with caplog.at_level(logging.INFO, "langgraph_degrade"), case.degrader.scope(thread="t-1"):
        case.call(order)
        case.call(case.degrader.guard("stock")(case.target(Refused(429))))
    records = [record for record in caplog.records if record.message.startswith("degraded request")]
    assert len(records) == 1
    chain: dict[str, Any] = records[0].degrade  # type: ignore[attr-defined]
    assert [event["target"] for event in chain["events"].values()] == ["order", "stock"]
    assert chain["thread"] == "t-1"
    assert "secret-token" not in caplog.text


@pytest.mark.row("E4")
def test_a_guarded_write_of_unknown_outcome_says_so(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, refund={"effect": "write", "timeout": "3s"})
    error = case.call(case.degrader.guard("refund")(case.target(Hang())), order="SO-1")
    assert isinstance(error, UnknownOutcome)
    assert isinstance(error.__cause__, TimeoutError)


def test_an_error_of_the_targets_own_comes_out_as_it_went_in(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock)
    error = KeyError("sku")
    assert case.call(case.degrader.guard("stock")(case.target(error))) is error


def test_all_causes_survive_when_fallbacks_fail_too(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, stock=READ)
    first, second = Refused(503), Refused(500)
    error = case.call(case.degrader.guard("stock", fallbacks=[case.target(second)])(case.target(first)))
    assert isinstance(error, LadderExhausted)
    assert error.exceptions == (first, second)


@pytest.mark.case("case-B08")
def test_generators_and_uncallable_fallbacks_are_refused_at_wrap_time(clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)

    def rows() -> Any:
        yield 1

    async def late() -> int:
        return 1

    with pytest.raises(TypeError, match="generator"):
        degrader.guard("rows")(rows)
    with pytest.raises(TypeError, match="async fallback"):
        degrader.guard("stock", fallbacks=[late])(lambda: 1)
