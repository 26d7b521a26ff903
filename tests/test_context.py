"""The `degrade` dict: a reducer that keeps its laws, a size that holds, and rubbish that never raises."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langgraph_degrade.context import DegradeContext, Event, Unfinished, merge
from langgraph_degrade.context.merging import EVENT, ITEM, LARGEST, MAX_EVENTS, MAX_UNFINISHED, read

CHINESE = "客户反映商品破损，需要更换"

_names = st.sampled_from([f"tool:t{number}#{number:016x}" for number in range(40)])
_times = st.one_of(st.integers(0, 6).map(float), st.integers(0, 6))
_texts = st.sampled_from(["", "refund", CHINESE, CHINESE * 40, "\x00" * 200, "\ud800", "x" * 900])
_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), _texts, st.text(max_size=5)
)
_junk = st.recursive(
    st.one_of(_scalars, st.binary(max_size=3), st.builds(object)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(_scalars, st.integers()), inner, max_size=3)
    ),
    max_leaves=6,
)
_items = st.fixed_dictionaries(
    {"at": _times, "done": st.booleans(), "what": _texts},
    optional={"state": st.sampled_from(["not_done", "unknown"]), "queued": st.booleans(), "turn": st.just("q1")},
)
_events = st.fixed_dictionaries(
    {"at": _times, "target": st.sampled_from(["tool:a", "tool:b"]), "reason": _texts},
    optional={"status": st.integers(400, 599), "direction": st.sampled_from(["data", "handoff"]), "scene": _texts},
)


def _many(entries: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.dictionaries(_names, entries, max_size=4), st.dictionaries(_names, entries, min_size=14, max_size=34)
    )


_sound = st.fixed_dictionaries(
    {"v": st.integers(1, 3), "turn": st.tuples(st.integers(0, 2), st.sampled_from(["q1", "q2"])).map(list)},
    optional={
        "events": _many(_events),
        "unfinished": _many(_items),
        "counters": st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.integers(1, 9), max_size=9), max_size=8),
        "flags": st.lists(st.sampled_from(["data_stale", "data_partial", *"abcdefghij"]), max_size=9),
        "level": st.integers(0, 6),
        "depth": st.integers(0, 6),
        "retries": st.integers(0, 6),
        "count": st.integers(0, 60),
        "colour": st.sampled_from(["red", "blue"]),
    },
)
_crowd = st.fixed_dictionaries(
    {
        "unfinished": st.dictionaries(_names, _items, min_size=MAX_UNFINISHED, max_size=34),
        "events": st.dictionaries(_names, _events, min_size=MAX_EVENTS, max_size=34),
        "counters": st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.integers(1, 9), min_size=4), min_size=4),
    }
).map(lambda parts: {"v": 1, "turn": [1, "q1"], **parts})
"""Full beyond the limits, and of one turn: what falls out here is what could come back."""
_FIELDS = ("events", "unfinished", "counters", "flags", "level", "depth", "retries", "count", "extra", "more", 7)
_broken = st.fixed_dictionaries(
    {"v": st.integers(), "turn": _junk},
    optional={
        field: st.one_of(_junk, st.dictionaries(st.one_of(_names, _scalars), _junk, max_size=4)) for field in _FIELDS
    },
)
_anything = st.one_of(_sound, _sound, _broken, _junk)
_laws = settings(max_examples=60, deadline=None)


def _base(**parts: Any) -> dict[str, Any]:
    return {"v": 1, "turn": [1, "q1"], **parts}


def _bytes(stored: Any) -> int:
    return len(json.dumps(stored, ensure_ascii=False, allow_nan=False).encode())


@pytest.mark.row("R3")
@given(_anything, _anything)
@_laws
def test_merging_does_not_hang_on_order(left: Any, right: Any) -> None:
    assert merge(left, right) == merge(right, left)


@pytest.mark.row("R3")
@given(_anything, _anything)
@_laws
def test_merging_again_changes_nothing(left: Any, right: Any) -> None:
    merged = merge(left, right)
    assert merge(merged, left) == merge(merged, right) == merge(merged, merged) == merged
    assert merge(left, left) == read(left)


@pytest.mark.row("R3")
@given(_anything, _anything, _anything)
@_laws
def test_merging_does_not_hang_on_grouping(first: Any, second: Any, third: Any) -> None:
    assert merge(merge(first, second), third) == merge(first, merge(second, third))


@pytest.mark.row("R3")
@given(_anything)
@_laws
def test_whatever_stands_there_reads_as_plain_json_of_a_bounded_size(stored: Any) -> None:
    state = read(stored)
    assert _bytes(state) <= LARGEST
    assert read(state) == read(json.loads(json.dumps(state))) == state


@pytest.mark.row("R3")
@given(_anything)
@example({"v": 0, "turn": None, "events": {"": {}}})
@_laws
def test_a_context_of_rubbish_can_be_read_in_every_way(stored: Any) -> None:
    context = DegradeContext(stored)
    assert isinstance(context.summary(), str)
    assert repr(context).startswith("DegradeContext(")
    assert all(item["id"] and item["what"] is not None and item["state"] for item in context.unfinished)
    assert all(event["id"] for event in context.events)
    assert (context.level, context.depth, context.retries, context.dropped) >= (0, 0, 0, 0)
    context.begin("q9")
    assert context.events == []


@pytest.mark.row("R3")
@pytest.mark.parametrize(
    "rubbish",
    [
        _base(events={"a": {"at": 10**400, "level": math.inf}}),
        _base(unfinished={"a": {1: 2, "b": 3}, 2: {"what": "x"}, "c": None}),
        _base(unfinished={"q": {}}, events={"e": {}}),
        _base(events={"a": {"at": math.nan, "reason": ["deep"], "done": "yes"}, "b": {"at": 0, "done": 1}}),
        _base(counters={"a": ["x", -1, 10**30, True], 3: [1]}, flags={"a": 1}, level="6", extra={"x": object()}),
        {"v": 10**400, "turn": [10**400, "q"]},
        {"v": True, "turn": [1, 2, 3]},
    ],
)
def test_known_rubbish_never_raises(rubbish: dict[str, Any]) -> None:
    assert DegradeContext(merge(rubbish, rubbish)).summary()


@pytest.mark.row("R3")
def test_what_is_nested_deeper_than_anybody_reads_is_left_out() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    state = merge(_base(events={"e": {"reason": deep}}, colour=deep), _base(colour="red"))
    assert state["extra"] == {"colour": "red"}
    assert DegradeContext(state).events == [{"at": 0.0, "id": "e"}]


def _item(number: int, **fields: Any) -> Unfinished:
    name = f"tool:mcp__shop__create_ticket#{number:016x}"
    return Unfinished(
        name, "tool:mcp__shop__create_ticket", f"{CHINESE * 60}", turn="q" * 36, at=float(number), **fields
    )


@pytest.mark.row("R2")
def test_the_fullest_context_stays_under_16_kb() -> None:
    context = DegradeContext()
    context.begin("q" * 36)
    for number in range(60):
        context.add_unfinished(_item(number, queued=True))
        context.record(
            Event(
                f"0123456789ab.{number}",
                f"tool:mcp__shop__create_ticket_{number}",
                "execute",
                "connection",
                CHINESE * 30,
                direction="handoff",
                outcome="unavailable",
                scene="after_sale_ticket",
                at=1_700_000_000.123456 + number,
                elapsed=1.234567,
                status=503,
            ),
            [f"flag_{number}"],
        )
    stored = context.plain()
    assert 12_000 < _bytes(stored) <= LARGEST
    assert len(stored["events"]) == MAX_EVENTS
    assert context.dropped == 60 - MAX_EVENTS
    assert [item["at"] for item in context.unfinished] == [float(n) for n in range(60 - MAX_UNFINISHED, 60)]
    assert all(item["what"].startswith(CHINESE) and item["what"].endswith("…") for item in context.unfinished)


@pytest.mark.row("R2")
@pytest.mark.parametrize("shape", [EVENT, ITEM])
def test_an_entry_too_large_for_any_cut_keeps_its_place(shape: Any) -> None:
    part = "events" if shape is EVENT else "unfinished"
    huge = {f"field_{number}": number * 1.5 for number in range(90)} | {"at": 3.0}
    assert read(_base(**{part: {"x": huge}}))[part] == {"x": {"at": 3.0}}


@pytest.mark.row("R3")
@given(_crowd, _crowd, _crowd)
@settings(max_examples=20, deadline=None)
def test_the_laws_hold_where_entries_fall_out(first: Any, second: Any, third: Any) -> None:
    merged = merge(first, second)
    assert merged == merge(second, first) == merge(merged, first) == merge(merged, second)
    assert merge(merged, third) == merge(first, merge(second, third))


@pytest.mark.row("R2")
@pytest.mark.parametrize("others", [0, MAX_UNFINISHED, 60])
def test_a_finished_item_never_comes_back(others: int) -> None:
    started = DegradeContext()
    started.add_unfinished(Unfinished("x", "tool:a", "refund", at=1.0))
    old = started.plain()
    finished = DegradeContext(old)
    finished.finish("x")
    for number in range(others):
        finished.add_unfinished(_item(number + 2))
    merged = merge(merge(old, finished.plain()), old)
    assert "x" not in [item["id"] for item in DegradeContext(merged).unfinished]


@pytest.mark.row("R2")
def test_of_two_versions_the_later_counts_and_a_finished_one_before_an_open_one_of_its_time() -> None:
    def versions(*pairs: tuple[float, bool]) -> Any:
        state: Any = None
        for at, done in pairs:
            state = merge(state, _base(unfinished={"x": {"at": at, "done": done}}))
        return state["unfinished"]["x"]

    assert versions((100.0, False), (1.0, True)) == {"at": 100.0}
    assert versions((100.0, True), (100.0, False)) == {"at": 100.0, "done": True}


@pytest.mark.row("R2")
@pytest.mark.parametrize("again_at", [0.5, 1.0, 2.0])
def test_the_same_thing_asked_and_failed_again_is_open_again_whatever_the_clock_says(again_at: float) -> None:
    context = DegradeContext()
    context.add_unfinished(Unfinished("x", "tool:a", "refund", at=1.0))
    context.finish("x")
    assert context.unfinished == []
    context.add_unfinished(Unfinished("x", "tool:a", "refund again", at=again_at))
    assert [item["what"] for item in context.unfinished] == ["refund again"]


@pytest.mark.row("R2")
def test_finishing_what_is_not_known_leaves_nothing_behind() -> None:
    context = DegradeContext()
    context.finish("never heard of")
    assert context.plain()["unfinished"] == {}


@pytest.mark.row("R4")
def test_the_latest_turns_targets_are_counted_however_many_came_before() -> None:
    context = DegradeContext()
    for turn in range(30):
        context.begin(f"q{turn}")
        for target in ("tool:a", "tool:b", "tool:c"):
            context.record(Event(f"{turn}.{target}", target, "execute", "timeout", "late", direction="data"))
    latest = [target for target, turns in context.plain()["counters"].items() if context.turn[0] in turns]
    assert latest == ["tool:a", "tool:b", "tool:c"]


@pytest.mark.row("R3")
def test_a_turns_id_of_any_length_names_the_same_turn() -> None:
    context = DegradeContext()
    context.begin("q" * 500)
    context.record(Event("1", "tool:a", "execute", "timeout", "late", direction="data"))
    again = DegradeContext(context.plain())
    again.begin("q" * 500)
    assert len(again.events) == 1
    again.begin("q" * 499)
    assert again.events == []
