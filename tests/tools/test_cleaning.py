"""What a tool returned, made plain JSON."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import uuid
from collections import OrderedDict, deque
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from langgraph_degrade.errors import ToolSchemaError
from langgraph_degrade.stages.tools.cleaning import MAX_DEPTH, MAX_REPAIRS, clean

pytestmark = pytest.mark.row("E1")

ORDER = {"id": "SO-1001", "total": 12.5, "paid": True, "note": None, "items": [{"sku": "键盘", "qty": 2**53 - 1}]}


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Customer(BaseModel):
    name: str
    token: SecretStr
    since: date


@dataclasses.dataclass
class Parcel:
    weight: float
    seen: list[Any]


class Point(NamedTuple):
    x: float
    y: float


class Opaque:
    def __repr__(self) -> str:
        return "Opaque(password=hunter2)"


class Hostile:
    def model_dump(self, **_: Any) -> Any:
        raise RuntimeError("hunter2")


def nested(depth: int, leaf: Any = 1) -> Any:
    value = leaf
    for _ in range(depth):
        value = {"in": value}
    return value


@pytest.mark.parametrize("value", [ORDER, [], {}, "", "ok", None, True, 0, -1.5, [[[]]], "长" * 10_000])
def test_what_is_plain_already_is_handed_back_itself(value: Any) -> None:
    cleaned, repairs = clean(value)
    assert cleaned is value
    assert repairs == []


@pytest.mark.case("case-X08")
def test_numbers_that_are_none_become_null_and_are_told() -> None:
    cleaned, repairs = clean({"code": 0, "data": {"amount": math.nan, "rates": [1.0, math.inf, -math.inf]}})
    assert cleaned == {"code": 0, "data": {"amount": None, "rates": [1.0, None, None]}}
    assert repairs == [f"non-finite number at $.data.{place}" for place in ("amount", "rates[1]", "rates[2]")]


@pytest.mark.case("case-X07")
@pytest.mark.case("case-X08")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\0b", "ab"),
        ("\ud83d", "�"),
        ("tail \ud83d", "tail �"),
        ("\ude00 head", "� head"),
        ("\ud83d\ude00", "😀"),
        ("x\ud83dy\0z", "x�yz"),
    ],
)
def test_characters_others_choke_on_are_replaced_and_told(text: str, expected: str) -> None:
    cleaned, repairs = clean({"note": text})
    assert cleaned == {"note": expected}
    assert repairs == ["NUL or surrogate at $.note"]
    assert json.dumps(cleaned, ensure_ascii=False).encode()


@pytest.mark.case("case-T14")
@pytest.mark.parametrize("number", [1917043659912705296, 4200001234202501011234567890, -(2**53), 2**53])
def test_ids_beyond_what_a_double_holds_become_text_digit_for_digit(number: int) -> None:
    assert clean([number]) == ([str(number)], ["large integer at $[0]"])
    assert clean([number], keep_integers=True) == ([number], [])


def test_a_number_python_itself_will_not_write_becomes_null() -> None:
    assert clean({"n": 10**5000}) == ({"n": None}, ["large integer at $.n"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (deque([1]), [1]),
        (range(3), [0, 1, 2]),
        (Point(1, 2), {"x": 1, "y": 2}),
        (OrderedDict(a=1), {"a": 1}),
        ({"a": 1}.values(), [1]),
        (datetime(2025, 8, 16, 8, tzinfo=UTC), "2025-08-16T08:00:00+00:00"),
        (date(2025, 8, 16), "2025-08-16"),
        (timedelta(minutes=1.5), 90.0),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("19.99"), 19.99),
        (Decimal("10.00"), 10.0),
        (Decimal("0.1000000000000000000001"), "0.1000000000000000000001"),
        (Decimal("1E+400"), "1E+400"),
        (Fraction(1, 4), 0.25),
        (Fraction(1, 3), "1/3"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Parcel(1.5, [Colour.RED]), {"weight": 1.5, "seen": ["red"]}),
        (b"abc", "abc"),
        (b"\xff\xfe", "<2 bytes>"),
        ({1: "a", None: "b", False: "c", 2.5: "d"}, {"1": "a", "null": "b", "false": "c", "2.5": "d"}),
        ({Colour.RED: 1, date(2025, 1, 1): 2}, {"red": 1, "2025-01-01": 2}),
    ],
)
def test_python_values_take_their_json_form(value: Any, expected: Any) -> None:
    cleaned, _ = clean({"value": value})
    assert cleaned == {"value": expected}


def test_taking_the_json_form_is_no_repair() -> None:
    _, repairs = clean({"tuple": (1,), "at": date(2025, 1, 1), 7: "seven", "who": Colour.RED})
    assert repairs == []


def test_a_pydantic_model_keeps_its_secrets() -> None:
    cleaned, _ = clean(Customer(name="Li", token=SecretStr("hunter2"), since=date(2020, 1, 1)))
    assert cleaned == {"name": "Li", "token": "**********", "since": "2020-01-01"}


@pytest.mark.parametrize("value", [Opaque(), ValueError("hunter2"), Hostile(), object(), 1j, Customer, lambda: 1])
def test_of_the_unknown_only_the_type_is_told(value: Any) -> None:
    cleaned, _ = clean({"it": value})
    assert cleaned == {"it": f"<{type(value).__name__}>"}


def test_an_iterator_is_not_used_up() -> None:
    rows = iter([1, 2])
    assert clean({"rows": rows}) == ({"rows": "<list_iterator>"}, [])
    assert list(rows) == [1, 2]


def test_a_range_is_not_unrolled_into_memory() -> None:
    assert clean(range(10**12)) == ("<range>", [])


def test_two_keys_that_become_one_are_told() -> None:
    cleaned, repairs = clean({1: "a", "1": "b"})
    assert cleaned == {"1": "b"}
    assert repairs == ["field renamed or doubled at $"]


def test_the_tools_own_value_is_not_touched() -> None:
    own = {"amount": math.nan, "tags": ("a", "b")}
    clean(own)
    assert math.isnan(own["amount"])  # type: ignore[arg-type]
    assert own["tags"] == ("a", "b")


def loop_of_lists() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def loop_of_dicts() -> Any:
    value: dict[str, Any] = {"orders": [{}]}
    value["orders"][0]["parent"] = value
    return value


def loop_of_objects() -> Any:
    value = Parcel(1.0, [])
    value.seen.append(value)
    return value


@pytest.mark.parametrize("loop", [loop_of_lists, loop_of_dicts, loop_of_objects])
def test_a_cycle_is_a_clear_failure(loop: Any) -> None:
    with pytest.raises(ToolSchemaError, match=r"schema: (a value that contains itself|nested deeper than 100) at"):
        clean(loop())


def test_the_same_part_twice_is_no_cycle() -> None:
    part = {"sku": "A", "rate": math.nan}
    assert clean([part, part])[0] == [{"sku": "A", "rate": None}] * 2


def test_a_hundred_levels_pass_and_one_more_does_not() -> None:
    deepest = nested(MAX_DEPTH)
    assert clean(deepest)[0] is deepest
    for leaf in (1, (), math.nan):
        with pytest.raises(ToolSchemaError, match="nested deeper than 100") as caught:
            clean(nested(MAX_DEPTH + 1, leaf))
        assert len(str(caught.value)) <= 200
        assert caught.value.path.startswith("$.in.in")


@pytest.mark.parametrize("leaf", [0, math.nan])
def test_parts_shared_without_end_fail_instead_of_filling_the_memory(leaf: Any) -> None:
    value: Any = [leaf]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(ToolSchemaError, match="more than 2000000 values"):
        clean(value)


def test_ten_megabytes_come_through_whole() -> None:
    cleaned, repairs = clean({"log": "日" * 3_400_000 + "\0" + "x" * 400_000})
    assert isinstance(cleaned, dict)
    assert len(cleaned["log"]) == 3_800_000
    assert repairs == ["NUL or surrogate at $.log"]


def test_marks_are_few_and_the_rest_is_counted() -> None:
    cleaned, repairs = clean([math.nan] * 1000)
    assert cleaned == [None] * 1000
    assert len(repairs) == MAX_REPAIRS + 1
    assert repairs[-1] == f"{1000 - MAX_REPAIRS} more"


def test_a_mark_shows_no_key_that_may_be_data() -> None:
    _, repairs = clean({"13800138000": {"li@example.com": math.nan}, "rows": [{"x": math.nan}]})
    assert repairs == ["non-finite number at $.*.*", "non-finite number at $.rows[0].x"]


texts = st.text("ab中\0\ud83d\ude00😀\n\u2028", max_size=8)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | texts
    | st.binary(max_size=6)
    | st.decimals()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from([Colour.RED, Level.HIGH, Opaque(), ValueError("x"), Point(1, math.nan)])
)
keys = texts | st.integers() | st.booleans() | st.none() | st.dates()
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | inner.map(lambda value: Parcel(0.5, [value]))
    ),
    max_leaves=12,
)


@given(values)
@settings(max_examples=100, deadline=None)
def test_whatever_comes_in_json_comes_out(value: Any) -> None:
    cleaned, _ = clean(value)
    text = json.dumps(cleaned, allow_nan=False, ensure_ascii=False)
    assert "\0" not in text
    assert "\\u0000" not in text
    assert json.loads(text.encode()) == cleaned
    assert ormsgpack.unpackb(ormsgpack.packb(cleaned)) == cleaned
    assert clean(cleaned)[0] is cleaned
