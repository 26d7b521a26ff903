"""Result schemas: three ways to write one, checked when the policy is read, and never fetched."""

from __future__ import annotations

import inspect
import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from langgraph_degrade.errors import PolicyError
from langgraph_degrade.policy import Policy


class Stock(BaseModel):
    sku: str
    stock: int = 0


def schema(written: Any) -> Any:
    return Policy.model_validate({"tools": {"a": {"result_schema": written}}}).target("tool:a").result_schema


def refusal(written: Any) -> str:
    with pytest.raises(PolicyError) as caught:
        schema(written)
    assert [problem.place for problem in caught.value.problems] == ["tools.a.result_schema"]
    return str(caught.value)


def test_a_schema_may_stand_inline():
    assert schema({"type": "object"}) == {"type": "object"}


def test_a_pydantic_model_becomes_its_schema():
    assert schema(Stock)["required"] == ["sku"]
    assert schema(list[Stock])["items"] == {"$ref": "#/$defs/Stock"}


def test_a_type_without_a_schema_is_refused():
    assert "pass a pydantic model, or a JSON Schema" in refusal(socket.socket)


@pytest.mark.parametrize(
    ("name", "content"), [("s.json", '{"type": "object"}'), ("s.yaml", "type: object"), ("s.toml", 'type = "object"')]
)
def test_a_schema_may_stand_in_a_file(tmp_path: Path, name: str, content: str):
    (tmp_path / name).write_text(content)
    (tmp_path / "p.yaml").write_text(f"tools: {{a: {{result_schema: {name}}}}}")
    assert Policy.load(tmp_path / "p.yaml").tools["a"].result_schema == {"type": "object"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "schemas/stock.json: no such file"),
        ("{", "schemas/stock.json, line 1: not readable as JSON"),
        ("[]", "schemas/stock.json holds no schema"),
        ('{"type": "objct"}', "not valid JSON Schema at $.type; 'objct' is no type, did you mean 'object'?"),
    ],
)
def test_a_schema_file_that_is_none_is_placed_at_the_line_that_names_it(tmp_path: Path, content: str | None, text: str):
    (tmp_path / "schemas").mkdir()
    if content is not None:
        (tmp_path / "schemas/stock.json").write_text(content)
    path = tmp_path / "degrade.yaml"
    path.write_text("tools:\n  a:\n    effect: read\n    result_schema: schemas/stock.json\n")
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert str(caught.value).startswith(f"{path}:4: tools.a.result_schema: ")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (
            {"properties": {"price": {"type": "numbr"}}},
            "$.properties.price.type; 'numbr' is no type, did you mean 'number'?",
        ),
        ({"properties": {"price": {"pattern": "(["}}}, "$.properties.price.pattern"),
        ({"required": "price"}, "$.required; 'price' is not of type 'array'"),
        ({"minimum": "1"}, "$.minimum"),
        ({"$schema": "https://example.com/nobody"}, "the dialect 'https://example.com/nobody' is not known"),
        ({"properties": {1: {}}}, "the key 1 is not text"),
        ({"minimum": float("nan")}, "nan is not a JSON value"),
        (3, "3 is not a schema; write the path of a JSON file, or the schema itself"),
        (True, "True is not a schema"),
        (b"{}", "is not a schema"),
        ("https://example.com/stock.json", "save the schema beside the policy"),
        ("FILE:///etc/passwd.json", "save the schema beside the policy"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(written: Any, text: str):
    assert text in refusal(written)


@pytest.mark.parametrize(
    "dialect", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
)
def test_known_dialects_are_checked_by_their_own_rules(dialect: str):
    assert schema({"$schema": dialect, "type": "object"})["$schema"] == dialect
    assert "$.type" in refusal({"$schema": dialect, "type": 3})


@pytest.mark.parametrize(
    "written",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"properties": {"child": {"$ref": "#"}}},
        {"$ref": "#a", "$defs": {"x": {"$anchor": "a"}}},
        {"$id": "https://example.com/root", "$ref": "part", "$defs": {"x": {"$id": "part", "type": "string"}}},
        {"enum": [{"$ref": "nowhere"}]},
        {"properties": {"$ref": {"type": "string"}}},
        {"properties": {"a": True}, "additionalProperties": False},
    ],
)
def test_references_within_the_schema_are_fine(written: Any):
    assert schema(written) == written


@pytest.mark.parametrize(
    "reference", ["https://example.com/x", "file:///etc/hostname", "other.json", "#/$defs/missing", "#nowhere"]
)
@pytest.mark.parametrize("wrap", [lambda ref: {"$ref": ref}, lambda ref: {"items": {"anyOf": [{"$ref": ref}]}}])
def test_references_that_lead_out_are_refused(reference: str, wrap: Any):
    text = refusal(wrap(reference))
    assert f"$ref {reference!r} leads nowhere in the schema" in text
    assert "nothing is fetched" in text


@pytest.fixture
def served() -> Iterator[tuple[str, list[str]]]:
    """A schema on a real server, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"type": "string"}).encode())

        def log_message(self, *_: Any) -> None:
            """Keep the test's output clean."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/stock.json", asked
        server.shutdown()
        thread.join()


def test_a_reference_to_a_server_that_would_answer_is_not_followed(served: tuple[str, list[str]]):
    address, asked = served
    refusal({"$ref": address})
    refusal({"properties": {"a": {"$ref": address}}})
    refusal(address)
    assert asked == []


def test_null_takes_away_the_schema_of_a_weaker_layer():
    policy = Policy.model_validate(
        {"defaults": {"result_schema": {}}, "tools": {"a": {"result_schema": None}, "b": {}}}
    )
    assert policy.target("tool:a").result_schema is None
    assert policy.target("tool:b").result_schema == {}


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"not": found}
    return found


def test_a_schema_nested_without_end_is_refused():
    assert "nested deeper than 64 levels" in refusal(nested(200))


def test_a_schema_too_deep_for_what_is_left_of_the_stack_is_refused():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 300)
    try:
        text = refusal(nested(60))
    finally:
        sys.setrecursionlimit(limit)
    assert "the schema is nested too deeply" in text
