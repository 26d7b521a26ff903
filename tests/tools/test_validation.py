"""A tool's result held against its JSON Schema."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from langgraph_degrade.errors import PolicyError, ToolSchemaError
from langgraph_degrade.stages.tools.cleaning import clean
from langgraph_degrade.stages.tools.validation import Validator, compile_schema

pytestmark = pytest.mark.row("E2")

STOCK: dict[str, Any] = {
    "type": "object",
    "required": ["code", "data"],
    "properties": {
        "code": {"type": "integer"},
        "data": {
            "type": "object",
            "required": ["sku", "price"],
            "properties": {
                "sku": {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"},
                "price": {"type": "number", "minimum": 0},
                "state": {"enum": ["in_stock", "sold_out"]},
                "places": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["city"],
                        "properties": {"city": {"type": "string"}, "left": {"type": "integer"}},
                        "additionalProperties": False,
                    },
                },
                "by_customer": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        },
    },
}
GOOD: dict[str, Any] = {
    "code": 0,
    "data": {
        "sku": "SKU-1",
        "price": 9.5,
        "state": "in_stock",
        "places": [{"city": "杭州", "left": 3}, {"city": "Berlin"}],
        "by_customer": {"13800138000": 1},
    },
}


class Item(BaseModel):
    sku: str
    qty: int = 1


class Order(BaseModel):
    id: int
    first: Item | None = None
    made: int = Field(0, json_schema_extra={"x-unit": "s"})


@pytest.fixture(scope="module")
def stock() -> Validator:
    return compile_schema(STOCK)


def changed(*path: str | int, to: Any = KeyError) -> Any:
    """GOOD with one place replaced, or removed."""
    value = copy.deepcopy(GOOD)
    part: Any = value
    for step in path[:-1]:
        part = part[step]
    if to is KeyError:
        del part[path[-1]]
    else:
        part[path[-1]] = to
    return value


def fault(validator: Validator, value: Any, root: str = "$") -> tuple[str, str]:
    failure = validator.check(value, root)
    assert failure is not None
    assert failure.kind == "schema"
    assert not failure.transient
    assert isinstance(failure.cause, ToolSchemaError)
    assert str(failure.cause) == failure.reason
    return failure.reason, failure.cause.path


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        ({}, "required 'code' missing", "$"),
        (changed("data"), "required 'data' missing", "$"),
        (changed("data", to=None), "object expected, null found", "$.data"),
        (changed("data", "price"), "required 'price' missing", "$.data"),
        (changed("data", "price", to="9.5"), "number expected, string found", "$.data.price"),
        (changed("data", "price", to=-1), "breaks 'minimum'", "$.data.price"),
        (changed("data", "sku", to="sku 1"), "breaks 'pattern'", "$.data.sku"),
        (changed("data", "state", to="gone"), "none of the allowed values", "$.data.state"),
        (changed("data", "places", 1, "city"), "required 'city' missing", "$.data.places[1]"),
        (changed("data", "places", 0, "x", to=1), "unexpected field", "$.data.places[0]"),
        (
            changed("data", "by_customer", "13800138000", to="2"),
            "integer expected, string found",
            "$.data.by_customer.*",
        ),
        ([], "object expected, array found", "$"),
        ("<html>", "object expected, string found", "$"),
        (None, "object expected, null found", "$"),
    ],
)
def test_a_fault_is_told_by_place_and_rule(stock: Validator, value: Any, reason: str, path: str) -> None:
    assert fault(stock, value) == (f"schema: {reason} at {path}", path)


def test_what_fits_is_no_failure(stock: Validator) -> None:
    assert stock.check(GOOD) is None


def test_outer_fields_come_before_core_fields_and_those_before_types(stock: Validator) -> None:
    value = changed("data", "price")
    value["code"] = "0"
    value["data"]["places"][0]["left"] = "3"
    assert fault(stock, value)[0] == "schema: required 'price' missing at $.data"
    del value["code"]
    assert fault(stock, value)[0] == "schema: required 'code' missing at $"
    value |= {"code": "0"}
    value["data"]["price"] = 1
    assert fault(stock, value)[0] == "schema: integer expected, string found at $.code"


def test_a_null_where_something_must_be_counts_as_missing(stock: Validator) -> None:
    value = changed("data", "price", to=None)
    value["code"] = "0"
    assert fault(stock, value)[0] == "schema: number expected, null found at $.data.price"


@pytest.mark.case("case-X08")
def test_an_amount_that_was_no_number_fails_where_one_is_required(stock: Validator) -> None:
    cleaned, repairs = clean(changed("data", "price", to=float("nan")))
    assert repairs == ["non-finite number at $.data.price"]
    assert fault(stock, cleaned)[0] == "schema: number expected, null found at $.data.price"


def test_the_root_is_named_where_the_value_came_out_of_an_envelope() -> None:
    assert fault(compile_schema(STOCK["properties"]["data"]), {"sku": "A-1"}, "$.data")[1] == "$.data"


@pytest.mark.row("F2")
def test_nothing_of_the_value_is_repeated(stock: Validator) -> None:
    secret = "hunter2-" * 500
    for path in (
        ("code",),
        ("data",),
        ("data", "price"),
        ("data", "sku"),
        ("data", "state"),
        ("data", "places", 0, secret),
    ):
        reason, _ = fault(stock, changed(*path, to=secret))
        assert "hunter2" not in reason
        assert len(reason) <= 200


def test_a_reason_stays_short_however_deep_the_fault() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a_rather_long_field_name": {"$ref": "#"}, "x" * 300: False},
    }
    value: Any = {"x" * 300: 1}
    for _ in range(90):
        value = {"a_rather_long_field_name": value}
    reason, path = fault(compile_schema(schema), value)
    assert len(reason) <= 200
    assert len(path) > 2000
    assert len(fault(compile_schema({"required": ["y" * 500]}), {})[0]) <= 200


@pytest.mark.parametrize(
    "value",
    [{1: "a"}, {"a": "\ud83d"}, {"a": object()}, {"a": {1, 2}}, object(), b"bytes"],
)
def test_what_the_engine_cannot_take_in_is_a_schema_failure(value: Any) -> None:
    reason, path = fault(compile_schema({"type": "object", "required": ["missing"]}), value)
    assert reason.startswith("schema: ")
    assert path == "$"


def test_depth_does_not_break_the_engine() -> None:
    value: Any = "x"
    for _ in range(5000):
        value = [value]
    schema = {"type": ["array", "integer"], "items": {"$ref": "#"}}
    reason, path = fault(compile_schema(schema), value)
    assert reason.startswith("schema: array or integer expected, string found at $[0][0]")
    assert path == "$" + "[0]" * 5000


def test_a_pattern_that_runs_wild_ends() -> None:
    schema = {"type": "string", "pattern": "^(?=a)(a+)+$"}
    assert fault(compile_schema(schema), "a" * 5000 + "!")[0] == "schema: breaks 'pattern' at $"


def test_a_hundred_thousand_wrong_rows_are_told_like_one() -> None:
    schema = {
        "type": "object",
        "required": ["total", "rows"],
        "properties": {"rows": {"type": "array", "minItems": 90_000, "items": {"type": "integer"}}},
    }
    validator = compile_schema(schema)
    rows = ["x"] * 100_000
    assert fault(validator, {"rows": rows})[0] == "schema: required 'total' missing at $"
    assert fault(validator, {"rows": rows, "total": 1})[0] == "schema: integer expected, string found at $.rows[0]"
    late = {"total": 1, "rows": [1] * 99_999 + ["x"]}
    assert fault(validator, late)[0] == "schema: integer expected, string found at $.rows[99999]"
    assert fault(validator, {"total": 1, "rows": [1] * 80_000})[0] == "schema: breaks 'minItems' at $.rows"


@pytest.mark.case("case-T14")
@pytest.mark.parametrize("number", [1917043659912705296, 4200001234202501011234567890])
def test_an_integer_has_no_upper_end(number: int) -> None:
    assert compile_schema({"type": "integer"}).check(number) is None


# --- models ---


def test_a_pydantic_model_stands_for_what_it_accepts() -> None:
    order = compile_schema(Order)
    assert order.model is Order
    assert order.check({"id": 1}) is None  # a field with a default may be absent
    assert fault(order, {"first": None})[0] == "schema: required 'id' missing at $"


def test_of_an_optional_part_the_fault_inside_is_told() -> None:
    order = compile_schema(Order)
    assert fault(order, {"id": 1, "first": {"qty": 2}})[0] == "schema: required 'sku' missing at $.first"
    assert fault(order, {"id": 1, "first": {"sku": 2}})[0] == "schema: string expected, number found at $.first.sku"
    assert fault(order, {"id": 1, "first": "x"})[0] == "schema: none of the allowed forms at $.first"


# --- schemas that are none, and schemas that reach out ---


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "objec"}, r"\$\.type"),
        ({"properties": {"a": {"type": "numbr"}}}, r"\$\.properties\.a\.type"),
        ({"required": "price"}, r"\$\.required"),
        ({"pattern": "("}, r"\$\.pattern"),
        ({"$ref": "#/$defs/nothing"}, "nothing"),
        ({"$schema": "http://example.com/mine"}, "example.com/mine"),
        ({"properties": {200: {}}}, "key"),
        ({"enum": [object()]}, "object"),
    ],
)
def test_a_schema_that_is_none_is_an_error_of_the_policy(schema: Any, told: str) -> None:
    with pytest.raises(PolicyError, match=rf"^result_schema: .*{told}"):
        compile_schema(schema)


class Listener(ThreadingHTTPServer):
    """Answers every request with a schema that allows everything, and counts them."""

    def __init__(self) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:  # noqa: N805 - the name http.server calls; `self` is the server here
                self.hits += 1
                handler.send_response(200)
                handler.end_headers()
                handler.wfile.write(b"{}")

            def log_message(handler, *_: Any) -> None:  # noqa: N805 - as above
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.hits = 0


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_no_schema_is_ever_fetched(listener: Listener, tmp_path: Any) -> None:
    (tmp_path / "any.json").write_text("{}")
    http = f"http://127.0.0.1:{listener.server_port}/any.json"
    for address in (http, (tmp_path / "any.json").as_uri()):
        for schema in ({"$ref": address}, {"$dynamicRef": address}, {"properties": {"a": {"$ref": f"{address}#/x"}}}):
            with pytest.raises(PolicyError, match="result_schema"):
                compile_schema(schema)
    assert listener.hits == 0


# --- against the other library ---


parts = st.sampled_from(
    [0, 1, 2.5, -1, "", "SKU-1", "sku", "in_stock", None, True, [], {}, [{"city": "x"}], [{}], {"a": 1}]
)
documents = st.dictionaries(
    st.sampled_from(["code", "data", "x"]),
    parts | st.dictionaries(st.sampled_from(list(STOCK["properties"]["data"]["properties"])), parts, max_size=5),
    max_size=3,
)


@given(documents)
@settings(max_examples=100, deadline=None)
def test_jsonschema_gives_the_same_verdict(value: Any) -> None:
    verdict = jsonschema.Draft202012Validator(STOCK).is_valid(value)
    assert (compile_schema(STOCK).check(value) is None) == verdict


@pytest.mark.parametrize(
    ("schema", "value", "ours", "theirs"),
    [
        ({"multipleOf": 0.01}, 19.99, True, False),
        ({"pattern": r"^\d$"}, "５", False, True),
        ({"pattern": r"^\w$"}, "é", False, True),
        ({"type": "number"}, float("nan"), False, True),
        ({"format": "email"}, "nobody", True, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "format": "date"}, "soon", True, True),
    ],
)
def test_where_the_two_libraries_differ_is_known(schema: Any, value: Any, ours: bool, theirs: bool) -> None:
    assert (compile_schema(schema).check(value) is None) is ours
    assert jsonschema.validators.validator_for(schema)(schema).is_valid(value) is theirs


# --- units of time ---


@pytest.mark.case("case-X11")
@pytest.mark.parametrize(
    ("unit", "sent", "settled"),
    [
        ("s", 1755302400, 1755302400),
        ("s", 1755302400000, 1755302400),
        ("s", "1755302400", "1755302400"),
        ("s", "1755302400000", "1755302400"),
        ("s", 1755302400.25, 1755302400.25),
        ("ms", 1755302400000, 1755302400000),
        ("ms", 1512189030, 1512189030000),
        ("ms", "1755302400", "1755302400000"),
        ("s", "2025-08-16 08:00:00", "2025-08-16 08:00:00"),
        ("s", None, None),
        ("s", True, True),
    ],
)
def test_a_time_in_the_wrong_unit_is_brought_over(unit: str, sent: Any, settled: Any) -> None:
    validator = compile_schema({"properties": {"created_at": {"x-unit": unit}}})
    outcome = validator.timestamps.settle({"created_at": sent})
    assert outcome.value == {"created_at": settled}
    assert outcome.error is None
    assert outcome.repairs == ([] if sent == settled else ["unit of time at $.created_at"])


@pytest.mark.case("case-X11")
@pytest.mark.parametrize("sent", [0, -1, 5, 946_684_799, 10**17, "3"])
def test_a_time_that_makes_sense_in_no_unit_is_no_date(sent: Any) -> None:
    outcome = compile_schema({"properties": {"at": {"x-unit": "s"}}}).timestamps.settle({"at": sent})
    assert outcome.value == {"at": sent}
    assert outcome.error is not None
    assert outcome.error.path == "$.at"


def test_times_are_found_through_lists_references_and_alternatives() -> None:
    schema = {
        "$defs": {"step": {"properties": {"at": {"x-unit": "s"}, "next": {"$ref": "#/$defs/step"}}}},
        "properties": {
            "steps": {"items": {"$ref": "#/$defs/step"}},
            "last": {"anyOf": [{"$ref": "#/$defs/step"}, {"type": "null"}]},
        },
    }
    sent = {"steps": [{"at": 1755302400}, {"at": 1755302400000}], "last": {"at": 1755302400000}, "other": 5}
    outcome = compile_schema(schema).timestamps.settle(sent)
    assert outcome.value == {"steps": [{"at": 1755302400}] * 2, "last": {"at": 1755302400}, "other": 5}
    assert outcome.repairs == ["unit of time at $.steps[1].at", "unit of time at $.last.at"]
    assert sent["last"] == {"at": 1755302400000}


def test_a_value_whose_times_are_right_is_handed_back_itself() -> None:
    validator = compile_schema(Order)
    value = {"id": 1, "made": 1755302400}
    assert validator.timestamps.settle(value).value is value
