"""Keys: two calls share one exactly when they are the same call for the same user."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import uuid
from collections import OrderedDict
from decimal import Decimal
from itertools import combinations
from types import MappingProxyType, SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from langgraph_degrade.engine.keys import LONGEST, canonical, scope_key

pytestmark = pytest.mark.row("E3")


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Address(BaseModel):
    city: str
    zip: str | None = None


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Text(str):
    __slots__ = ()


DISTINCT = {
    "int": 1,
    "bool": True,
    "float": 1.0,
    "text": "1",
    "null": None,
    "minus zero": -0.0,
    "zero": 0.0,
    "list": [1],
    "list of bool": [True],
    "list of float": [1.0],
    "tuple": (1,),
    "set": {1},
    "frozenset": frozenset({1}),
    "mapping": {"1": 1},
    "mapping with an int key": {1: 1},
    "mapping with a bool key": {True: 1},
    "nested bool": {"1": True},
    "ordered mapping": OrderedDict({"1": 1}),
    "bytes": b"1",
    "decimal": Decimal(1),
    "decimal with places": Decimal("1.0"),
    "enum": Level.LOW,
    "text enum": Colour.RED,
    "the text of an enum": "red",
    "date": dt.date(2024, 1, 1),
    "datetime": dt.datetime(2024, 1, 1),  # noqa: DTZ001 (naive on purpose)
    "aware datetime": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    "the text of a date": "2024-01-01",
    "time": dt.time(1),
    "duration": dt.timedelta(1),
    "uuid": uuid.UUID(int=1),
    "the text of a uuid": str(uuid.UUID(int=1)),
    "model": Address(city="x"),
    "the fields of a model": {"city": "x", "zip": None},
    "dataclass": Point(1),
    "a tag, spelled out": {"$uuid.UUID": str(uuid.UUID(int=1))},
    "a tag, spelled out twice": {"$$uuid.UUID": str(uuid.UUID(int=1))},
    "an empty text": "",
    "an empty list": [],
    "an empty mapping": {},
    "emoji": "😀",
    "two lone surrogates": "\ud83d\ude00",
    "the escape of a surrogate": "\\ud83d\\ude00",
}


@pytest.mark.case("case-K08")
def test_values_that_differ_in_type_or_content_never_share_a_key():
    keys = {name: canonical({"id": value}) for name, value in DISTINCT.items()}
    assert None not in keys.values()
    assert [pair for pair in combinations(keys, 2) if keys[pair[0]] == keys[pair[1]]] == []


@pytest.mark.case("case-K08")
def test_types_are_told_apart_inside_containers_too():
    rows = [{"ids": [{"id": value}]} for value in (1, True, 1.0, "1")]
    assert len({canonical(row) for row in rows}) == 4


@pytest.mark.case("case-K08")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"x": {"a": 1, "b": 2}}, {"x": {"b": 2, "a": 1}}),
        ({"x": {1: 1, "b": 2}}, {"x": {"b": 2, 1: 1}}),
        ({"x": {3, 1, 2}}, {"x": {2, 3, 1}}),
        ({"a": 1}, MappingProxyType({"a": 1})),
        ({"x": Address(city="x")}, {"x": Address(city="x", zip=None)}),
        ({"x": Point(1)}, {"x": Point(1, 0)}),
    ],
)
def test_order_and_spelled_out_defaults_do_not_matter(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.case("case-K08")
def test_none_is_not_a_missing_argument():
    assert canonical({"x": None}) != canonical({})


class Unreadable(dict):
    def items(self):
        raise RuntimeError("changed during iteration")


ENDLESS: list = []
ENDLESS.append(ENDLESS)


@pytest.mark.case("case-K08")
@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        Decimal("nan"),
        object(),
        lambda: 1,
        Text("1"),
        Address,
        Point,
        SecretStr("hunter2"),
        ENDLESS,
        10**5000,
        Unreadable(a=1),
        (item for item in ()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_lasting_identity_has_no_key(value):
    assert canonical({"x": value}) is None
    assert canonical({"x": [{"y": value}]}) is None


def test_objects_of_one_repr_do_not_share_a_key():
    class User:
        def __repr__(self) -> str:
            return "王伟"

    assert canonical({"user": User()}) is None


TEXT = st.text(st.sampled_from('a1$.\\"é😀\ud83d\ude00'), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 1) | st.sampled_from([-1.0, -0.0, 0.0, 1.0]) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
ARGS = st.dictionaries(TEXT, JSON, max_size=2)


@settings(max_examples=100, deadline=None)
@given(ARGS, ARGS)
def test_plain_arguments_share_a_key_exactly_when_their_json_is_the_same(one, other):
    same = json.dumps(one, sort_keys=True, ensure_ascii=False) == json.dumps(other, sort_keys=True, ensure_ascii=False)
    assert (canonical(one) == canonical(other)) is same


@settings(max_examples=100, deadline=None)
@given(ARGS)
def test_a_key_can_be_written_down_whatever_is_in_it(args):
    key = canonical(args)
    assert key is not None
    assert key.encode().decode() == key


def test_a_long_key_is_a_digest_of_the_whole():
    long, other = ({"text": "x" * LONGEST + end} for end in "ab")
    assert canonical(long) == canonical(dict(long))
    assert canonical(long) != canonical(other)
    assert len(canonical(long) or "") < 80


def look(scope, configurable=None, context=None, thread_id=None):
    return scope_key(scope, configurable=configurable or {}, context=context, thread_id=thread_id)


@pytest.mark.case("case-K01")
def test_two_users_never_share_a_scope():
    one, other = (look(("tenant_id", "user_id"), {"tenant_id": "t", "user_id": user}) for user in ("a", "b"))
    assert None not in (one, other)
    assert one != other


@pytest.mark.case("case-K01")
def test_two_tenants_never_share_a_user():
    one, other = (look(("tenant_id", "user_id"), {"tenant_id": tenant, "user_id": 1}) for tenant in ("a", "b"))
    assert None not in (one, other)
    assert one != other


@pytest.mark.case("case-K01")
@pytest.mark.parametrize("configurable", [{}, {"user_id": None}, {"user": "a"}])
@pytest.mark.parametrize("context", [None, {}, SimpleNamespace(user_id=None), SimpleNamespace()])
def test_without_an_identity_there_is_no_scope(configurable, context):
    assert look(("user_id",), configurable, context, thread_id="t") is None


@pytest.mark.case("case-K01")
def test_half_an_identity_is_none():
    assert look(("tenant_id", "user_id"), {"user_id": "a"}) is None


@pytest.mark.case("case-K02")
def test_falsy_identities_are_identities():
    scopes = [look(("user_id",), {"user_id": user}) for user in (0, "", "0", 1, "1", b"", uuid.UUID(int=0))]
    assert None not in scopes
    assert len(set(scopes)) == len(scopes)


@pytest.mark.case("case-K02")
@pytest.mark.parametrize("user", [True, 1.0, float("nan"), object(), ["a"], {"id": 1}, Text("1"), Address(city="x")])
def test_what_is_no_stable_identity_is_refused(user):
    assert look(("user_id",), {"user_id": user}) is None


def test_an_enum_member_is_an_identity_of_its_own():
    assert look(("tenant",), {"tenant": Colour.RED}) is not None
    assert look(("tenant",), {"tenant": Colour.RED}) != look(("tenant",), {"tenant": "red"})


@pytest.mark.parametrize("context", [{"user_id": "a"}, SimpleNamespace(user_id="a")])
def test_the_runtime_context_knows_the_user_as_well_as_configurable(context):
    assert look(("user_id",), {}, context) == look(("user_id",), {"user_id": "a"})


def test_sources_that_disagree_about_the_user_give_no_scope():
    assert look(("user_id",), {"user_id": "a"}, {"user_id": "a"}) is not None
    assert look(("user_id",), {"user_id": "a"}, {"user_id": "b"}) is None
    assert look(("user_id",), {"user_id": 1}, {"user_id": True}) is None


def test_langgraphs_own_keys_identify_nobody():
    assert look(("__pregel_task_id",), {"__pregel_task_id": "a"}) is None


def test_without_a_scope_a_value_belongs_to_its_thread():
    assert look(None, thread_id="a") != look(None, thread_id="b")
    assert look(None, thread_id="a") != look(("user_id",), {"user_id": "a"})
    assert look(None) is None
    assert look(None, thread_id=uuid.UUID(int=1)) is not None


def test_shared_values_need_nobody():
    assert look("shared") == ()
