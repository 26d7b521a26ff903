"""`check`: every remark where it is true, and none where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from langgraph_degrade.policy import Policy
from langgraph_degrade.policy.check import Finding, check, findings

EXAMPLE = Path(__file__).parents[2] / "examples" / "degrade.yaml"
SINK = {"handoff": {"sink": "tickets"}}
READ = {"effect": "read"}
WRITE = {"effect": "write", "verify": "find_it", "interruptible": False}


def tool(**settings: Any) -> dict[str, Any]:
    return {"tools": {"a": settings}}


def breaker(**settings: Any) -> dict[str, Any]:
    return tool(**READ, breakers=[settings])


TRUE: list[tuple[str, str, dict[str, Any]]] = [
    ("timeout-over-session", "timeouts.tool", {"timeouts": {"tool": "70s"}}),
    ("timeout-over-session", "timeouts.tool", {"timeouts": {"tool": "20s", "session": "10s"}}),
    ("timeout-over-session", "tools.a.timeout", tool(**READ, timeout="70s")),
    ("timeout-over-session", "tools.a.timeout", tool(**READ, timeout={"basic": "3s", "complex": "70s"})),
    ("timeout-over-session", "scenes.s.timeout", {"scenes": {"s": {"timeout": "2m"}}}),
    ("session-over-user", "timeouts.user", {"timeouts": {"session": "50s", "user": "40s"}}),
    ("session-over-user", "timeouts.user", {"timeouts": {"user": "20s"}}),
    ("retry-time-over-session", "request.retry_time", {"request": {"retry_time": "61s"}}),
    (
        "attempts-over-session",
        "tools.a.timeout",
        {"timeouts": {"session": "30s"}, **tool(**READ, timeout="25s", params={"drop": ["x"]})},
    ),
    (
        "attempts-over-session",
        "tools.a.timeout",
        {"timeouts": {"session": "10s"}, **tool(**READ, timeout="5s", endpoints=["a", "b", "c"])},
    ),
    ("attempts-over-session", "tools.a", {"timeouts": {"session": "5s"}, **tool(**READ)}),
    ("timeout-empty", "tools.a.timeout", tool(**READ, timeout=None)),
    ("write-with-data", "tools.a.ladder", tool(**WRITE, ladder=["data"])),
    ("write-with-data", "scenes.s.ladder", {"scenes": {"s": {"ladder": ["data"]}}, **tool(**WRITE, scene="s")}),
    ("write-with-cache", "tools.a.cache", tool(**WRITE, cache={"ttl": 60, "scope": ["u"]})),
    (
        "write-with-cache",
        "defaults.cache",
        {"defaults": {"cache": {"ttl": 60, "scope": ["u"]}}, **tool(**WRITE)},
    ),
    ("write-without-verify", "tools.a", tool(effect="write", interruptible=False)),
    ("write-interruptible", "tools.a", tool(effect="write", verify="find_it")),
    ("no-effect", "tools.a", tool()),
    ("not-used-yet", "stages.answer.regenerate", {"stages": {"answer": {"regenerate": 2}}}),
    ("cache-without-scope", "tools.a.cache", tool(**READ, cache={"ttl": 60})),
    ("cache-without-scope", "tools.a.read_through", tool(**READ, read_through={"ttl": 60})),
    (
        "cache-without-scope",
        "defaults.cache",
        {"defaults": {"cache": {"ttl": 60}}, **tool(**READ)},
    ),
    *[
        ("shared-personal", f"tools.{name}.cache", {"tools": {name: {**READ, "cache": {"ttl": 60, "scope": "shared"}}}})
        for name in ("get_order", "listMyOrders", "user-profile")
    ],
    (
        "shared-personal",
        "tools.查询订单.cache",
        {"tools": {"查询订单": {**READ, "cache": {"ttl": 1, "scope": "shared"}}}},
    ),
    ("rung-without-means", "tools.a.ladder", tool(**READ, ladder=["data", "function"])),
    ("rung-without-means", "tools.a.ladder", tool(**READ, ladder=["params"])),
    ("rung-without-means", "tools.a.ladder", tool(**READ, ladder=["chain"])),
    ("means-without-rung", "tools.a.params", tool(**READ, ladder=["function"], params={"drop": ["x"]})),
    ("means-without-rung", "tools.a.offline", tool(**READ, ladder=["function"], offline="guess")),
    ("means-without-rung", "tools.a.endpoints", tool(**READ, ladder=["function"], endpoints=["a", "b"])),
    ("unknown-scene", "tools.a.scene", {"scenes": {"after_sale": {}}, **tool(**READ, scene="after_sales")}),
    ("breaker-never-trips", "tools.a.breakers[0]", tool(**READ, capacity="1/m", breakers=[{"window": "60s"}])),
    (
        "breaker-never-trips",
        "tools.a.breakers[0]",
        tool(**READ, capacity="15/m", breakers=[{"consecutive": 16, "errors": 15}]),
    ),
    ("breaker-never-trips", "tools.a.capacity", tool(**READ, capacity="1/m")),
    ("breaker-never-trips", "defaults.breakers[0]", {"defaults": {"breakers": [{}]}, **tool(**READ, capacity="1/m")}),
    ("slow-recovery", "tools.a.breakers[0]", breaker(open_for="50s")),
    ("slow-recovery", "defaults.breakers[0]", {"defaults": {"breakers": [{"ramp": "31s"}]}}),
    ("no-breaker", "tools.a.breakers", tool(**READ, breakers=[])),
]

UNTRUE: list[tuple[str, dict[str, Any]]] = [
    ("timeout-over-session", {"timeouts": {"tool": "60s"}}),
    ("timeout-over-session", {"timeouts": {"session": "90s"}, **tool(**READ, timeout="70s")}),
    ("timeout-over-session", tool(**READ, timeout="none")),
    ("session-over-user", {"timeouts": {"session": "40s", "user": "40s"}}),
    ("retry-time-over-session", {"request": {"retry_time": "60s"}}),
    ("attempts-over-session", tool(**READ)),
    ("attempts-over-session", {"timeouts": {"session": "5s"}, **tool(**WRITE)}),
    ("attempts-over-session", {"timeouts": {"session": "5s"}, "request": {"retries": 0}, **tool(**READ)}),
    ("attempts-over-session", {"timeouts": {"session": "30s"}, **tool(**READ, timeout="25s")}),
    ("timeout-empty", tool(**READ)),
    ("timeout-empty", tool(**READ, timeout="none")),
    ("write-with-data", tool(**WRITE, ladder=["handoff"])),
    ("write-with-data", tool(**WRITE)),
    ("write-with-data", tool(**READ, ladder=["data"])),
    ("write-with-cache", tool(**READ, cache={"ttl": 60})),
    ("write-with-cache", {"defaults": {"cache": {"ttl": 60}}, **tool(**WRITE, cache=None)}),
    ("write-without-verify", tool(**WRITE)),
    ("write-without-verify", tool(effect="write", idempotent=True)),
    ("write-without-verify", tool(**READ)),
    ("write-interruptible", tool(**WRITE)),
    ("write-interruptible", tool(effect="write", interruptible=True)),
    ("no-effect", tool(**READ)),
    ("no-effect", {"scenes": {"s": READ}, **tool(scene="s")}),
    ("no-effect", {"targets": {"a": {"cache": {"ttl": 60, "scope": ["u"]}}}}),
    ("not-used-yet", {"stages": {"answer": {"core": False}}}),
    ("cache-without-scope", tool(**READ, cache={"ttl": 60, "scope": ["user_id"]})),
    ("cache-without-scope", tool(**READ, cache={"ttl": 60, "scope": "shared"})),
    ("shared-personal", {"tools": {"get_stock": {**READ, "cache": {"ttl": 60, "scope": "shared"}}}}),
    ("shared-personal", {"tools": {"reorder_level": {**READ, "cache": {"ttl": 60, "scope": "shared"}}}}),
    ("shared-personal", {"tools": {"get_order": {**READ, "cache": {"ttl": 60, "scope": ["user_id"]}}}}),
    ("rung-without-means", tool(**READ)),
    ("rung-without-means", tool(**READ, ladder=["data"], cache={"ttl": 60})),
    ("rung-without-means", tool(**READ, ladder=["params"], params={"drop": ["x"]})),
    ("rung-without-means", tool(**READ, ladder=["chain"], core=False)),
    ("means-without-rung", tool(**READ, ladder=["data"], offline="guess")),
    ("means-without-rung", {"defaults": {"params": {"drop": ["x"]}}, **tool(**READ, ladder=["function"])}),
    ("means-without-rung", tool(**READ, ladder=["function"], endpoints=["a"])),
    ("unknown-scene", {"scenes": {"after_sale": {}}, **tool(**READ, scene="after_sale")}),
    ("unknown-scene", {"scenes": {"after_sale": {}}, **tool(**READ, scene="stock_query")}),
    ("no-handoff-sink", SINK),
    ("breaker-never-trips", tool(**READ, capacity="100/s")),
    ("breaker-never-trips", tool(**READ)),
    ("breaker-never-trips", tool(**READ, capacity="15/m", breakers=[{"consecutive": 16, "errors": 14}])),
    ("slow-recovery", breaker(open_for="30s", ramp="30s")),
    ("no-breaker", breaker()),
]


def remarks(written: dict[str, Any]) -> list[Finding]:
    return findings(Policy.model_validate(SINK | written))


@pytest.mark.parametrize(("code", "place", "written"), TRUE, ids=[f"{code} {place}" for code, place, _ in TRUE])
def test_a_remark_is_made_once_where_it_is_true(code: str, place: str, written: dict[str, Any]):
    [found] = [remark for remark in remarks(written) if remark.code == code]
    assert found.place == place
    assert found.why
    assert found.fix


@pytest.mark.parametrize(("code", "written"), UNTRUE, ids=[code for code, _ in UNTRUE])
def test_a_remark_is_not_made_where_it_is_not_true(code: str, written: dict[str, Any]):
    assert code not in {remark.code for remark in remarks(written)}


def test_every_remark_is_shown_true_and_untrue():
    positive = {code for code, _, _ in TRUE} | {"no-handoff-sink"}
    assert positive == {code for code, _ in UNTRUE}


@pytest.mark.row("H1")
def test_a_missing_hand_off_sink_is_told_even_of_the_empty_policy():
    assert [(found.code, found.place, found.level) for found in findings(Policy())] == [
        ("no-handoff-sink", "handoff", "warning")
    ]


def test_what_cannot_always_be_helped_is_a_note():
    notes = {
        code for code, _, written in TRUE for found in remarks(written) if found.code == code and found.level == "note"
    }
    assert notes == {
        "cache-without-scope",
        "no-breaker",
        "no-effect",
        "not-used-yet",
        "rung-without-means",
        "timeout-empty",
        "write-interruptible",
        "write-without-verify",
    }


def test_settings_that_an_undecided_effect_makes_idle_are_a_warning():
    [found] = [one for one in remarks(tool(cache={"ttl": 60, "scope": ["u"]})) if one.code == "no-effect"]
    assert found.level == "warning"
    assert "cache would do nothing" in found.why


def test_a_cause_shared_by_many_targets_is_told_once():
    written = {"defaults": {"cache": {"ttl": 60}}, "tools": {"a": READ, "b": READ, "c": READ}}
    assert [found.code for found in remarks(written)] == ["cache-without-scope"]


def test_the_worst_case_counts_retry_time_and_not_every_attempt_in_full():
    written = {"timeouts": {"session": "12s"}, **tool(**READ, timeout="5s", endpoints=["a", "b", "c", "d", "e"])}
    [found] = remarks(written)
    assert found.code == "attempts-over-session"
    assert found.why == "5 attempts of 5 s may take 13 s, the session ends after 12 s"


def test_a_file_is_checked_with_its_lines_in_its_order(tmp_path: Path):
    path = tmp_path / "degrade.yaml"
    path.write_text(
        "handoff: {sink: tickets}\n"
        "tools:\n"
        "  get_order:\n"
        "    effect: read\n"
        "    cache:\n"
        "      ttl: 60s\n"
        "      scope: shared\n"
        "  refund: {effect: write,\n"
        "           ladder: [data]}\n"
    )
    assert [(found.line, found.code) for found in check(path)] == [
        (5, "shared-personal"),
        (8, "write-without-verify"),
        (8, "write-interruptible"),
        (9, "write-with-data"),
    ]


def test_the_example_policy_leaves_nothing_to_remark():
    assert check(EXAMPLE) == []
