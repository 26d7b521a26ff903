"""Durations, rates and shares: what is read, and what is refused with a way out."""

from __future__ import annotations

import copy
import math
import pickle  # noqa: TID251 - only to show that nothing in a policy hinders those who must
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from langgraph_degrade.policy.values import FrozenDict, duration, plain_json, positive_duration, rate, share

SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (3, 3.0),
        (3.5, 3.5),
        ("3s", 3.0),
        ("500ms", 0.5),
        ("5m", 300.0),
        ("24h", 86400.0),
        ("7d", 604800.0),
        ("1.5s", 1.5),
        (" 3s ", 3.0),
        (timedelta(minutes=2), 120.0),
        (0, 0.0),
    ],
)
def test_a_duration_is_read_as_seconds(written: object, seconds: float):
    assert duration(written) == seconds


@given(st.integers(0, 10**6), st.sampled_from(sorted(SECONDS)))
def test_every_whole_number_with_a_unit_is_that_many_seconds_or_too_long(number: int, unit: str):
    expected = number * SECONDS[unit]
    if expected <= 366 * SECONDS["d"]:
        assert duration(f"{number}{unit}") == pytest.approx(expected)
    else:
        with pytest.raises(PydanticCustomError, match="no time anybody can wait"):
            duration(f"{number}{unit}")


@given(st.floats(0, 10**7))
def test_a_number_and_a_timedelta_of_it_mean_the_same(seconds: float):
    assert duration(timedelta(seconds=seconds)) == pytest.approx(duration(seconds), abs=1e-6)


@given(st.text(max_size=20) | st.none() | st.binary() | st.lists(st.integers()) | st.booleans() | st.floats())
def test_whatever_is_written_it_is_a_finite_duration_or_one_clear_error(written: object):
    read = _read(written)
    if isinstance(read, float):
        assert 0 <= read <= 366 * SECONDS["d"]
    else:
        assert read.type == "policy"
        assert read.context
        assert read.context["fix"]


def _read(written: object) -> float | PydanticCustomError:
    try:
        return duration(written)
    except PydanticCustomError as error:
        return error


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("3 sec", "did you mean 3s?"),
        ("3 Seconds", "did you mean 3s?"),
        ("3 s", "did you mean 3s?"),
        ("20 minutes", "did you mean 20m?"),
        ("250 millis", "did you mean 250ms?"),
        ("250 msec", "did you mean 250ms?"),
        ("1 hour", "did you mean 1h?"),
        ("3", "write 3s, or the number without quotes"),
        ("3m s", "one unit of ms, s, m, h, d"),
        ("-3s", "one unit of ms, s, m, h, d"),
        ("soon", "one unit of ms, s, m, h, d"),
        ("", "one unit of ms, s, m, h, d"),
        ("３s", "one unit of ms, s, m, h, d"),
        (True, "write a number and a unit"),
        (math.nan, "write a number and a unit"),
        (math.inf, "write a number and a unit"),
        ([3], "write a number and a unit"),
        (-1, "from 0 to 366d"),
        ("9999d", "from 0 to 366d"),
        (timedelta(seconds=-1), "from 0 to 366d"),
    ],
)
def test_a_wrong_duration_says_what_would_be_right(written: object, fix: str):
    with pytest.raises(PydanticCustomError) as caught:
        duration(written)
    assert fix in str(caught.value)


def test_a_limit_of_nothing_is_refused():
    with pytest.raises(PydanticCustomError, match="leaves no time at all"):
        positive_duration("0s")


@pytest.mark.parametrize(("written", "per_second"), [(100, 100.0), ("100/s", 100.0), ("6000/m", 100.0), ("36/h", 0.01)])
def test_a_rate_is_read_as_calls_per_second(written: object, per_second: float):
    assert rate(written) == pytest.approx(per_second)


@pytest.mark.parametrize("written", ["100", "100 per second", "/s", "100/ms", -1, 0, "0/s", True, math.nan, None, {}])
def test_a_wrong_rate_shows_a_right_one(written: object):
    with pytest.raises(PydanticCustomError, match="100/s"):
        rate(written)


@pytest.mark.parametrize(("written", "read"), [(0.3, 0.3), (1, 1.0), (0.001, 0.001)])
def test_a_share_is_above_nothing_and_at_most_all(written: object, read: float):
    assert share(written) == read


@pytest.mark.parametrize(
    ("written", "fix"),
    [(30, "did you mean 0.3?"), (0, "above 0"), (-0.1, "above 0"), (101, "above 0"), ("30%", "above 0")],
)
def test_a_wrong_share_says_what_would_be_right(written: object, fix: str):
    with pytest.raises(PydanticCustomError) as caught:
        share(written)
    assert fix in str(caught.value)


def test_plain_json_is_a_copy():
    inner = [1, {"a": None}]
    given_value = {"x": inner, "y": (True, 1.5, "z")}
    copied = plain_json(given_value)
    inner.append(2)
    assert copied == {"x": [1, {"a": None}], "y": [True, 1.5, "z"]}


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", {1: "x"}, object(), {"a": [timedelta(1)]}])
def test_what_json_cannot_say_is_refused(value: object):
    with pytest.raises(PydanticCustomError):
        plain_json(value)


def test_nesting_without_end_is_refused_before_it_hurts():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(PydanticCustomError, match="nested deeper"):
        plain_json(endless)


def test_a_frozen_mapping_reads_like_a_dict_and_never_changes():
    frozen = FrozenDict({"a": [1]})
    assert frozen == {"a": [1]}
    assert hash(frozen) == hash(FrozenDict({"a": [1]}))
    assert copy.deepcopy(frozen) == frozen
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    for change in (
        lambda: frozen.__setitem__("b", [2]),
        lambda: frozen.update(b=[2]),
        lambda: frozen.pop("a"),
        lambda: frozen.setdefault("b", [2]),
        frozen.clear,
        frozen.popitem,
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    assert frozen == {"a": [1]}
