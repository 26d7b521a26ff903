"""From what a tool returned to what it means."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import httpx2
import pytest
import requests
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Send
from pydantic import BaseModel

from langgraph_degrade.errors import ToolSchemaError
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.policy import EnvelopePolicy
from langgraph_degrade.stages.tools.reading import Reading, read
from langgraph_degrade.stages.tools.validation import compile_schema

ORDER = {
    "type": "object",
    "required": ["id", "amount"],
    "properties": {"id": {"type": ["string", "integer"]}, "amount": {"type": "number"}, "at": {"x-unit": "s"}},
}
WRAPPED = EnvelopePolicy()


class Order(BaseModel):
    id: str
    amount: float


@dataclass
class Parcel:
    id: str
    amount: float


def reading(raw: Any, **declared: Any) -> Reading:
    schema = declared.pop("schema", None)
    return read(raw, classify=classify, schema_validator=compile_schema(schema) if schema else None, **declared)


def failure_of(raw: Any, **declared: Any) -> Failure:
    got = reading(raw, **declared)
    assert got.failure is not None
    assert got.data is None
    return got.failure


# --- what needs nothing done passes as it is ---


@pytest.mark.row("F3")
@pytest.mark.parametrize(
    "raw",
    [
        {"stock": 3}, [], [{"id": "A"}], {}, "", "12 in stock", 0, None, False, 2.5,
        [{"type": "text", "text": "hello"}, {"type": "image", "url": "https://example.com/a.png"}],
        '{"price": NaN}', "{not json",
    ],
)  # fmt: skip
def test_a_plain_value_nobody_declared_anything_about_is_its_own_reading(raw: Any) -> None:
    got = reading(raw)
    assert got.value is raw
    assert got.shown is raw
    assert got.data is raw
    assert (got.failure, got.repairs) == (None, ())


@pytest.mark.row("F3")
@pytest.mark.case("case-X10")
@pytest.mark.parametrize(
    "raw",
    [
        {"error": None, "data": {"id": "A"}},
        {"errors": [], "data": {"id": "A"}},
        {"error": "", "code": 0},
        {"errorCount": 0},
    ],
)
def test_an_empty_error_is_no_error(raw: Any) -> None:
    assert reading(raw) == Reading(raw, raw)


@pytest.mark.row("F3")
@pytest.mark.parametrize(
    "raw",
    [
        Command(update={"messages": []}),
        Command(goto=[Send("node", {"surrogate": "\ud83d"})]),
        [Command(goto="node"), ToolMessage("x", tool_call_id="1")],
        [ToolMessage("x", tool_call_id="1")],
    ],
)
def test_a_tools_own_commands_and_messages_pass_untouched(raw: Any) -> None:
    got = reading(raw, schema=ORDER, envelope=WRAPPED)
    assert got.value is raw
    assert got.failure is None


def test_a_tools_own_message_passes_and_its_content_is_the_data() -> None:
    message = ToolMessage("12 in stock", tool_call_id="1", artifact=object())
    got = reading(message, schema=ORDER)
    assert got.value is message
    assert got.data == "12 in stock"


@pytest.mark.case("case-X07")
def test_a_message_no_model_could_be_sent_is_repaired() -> None:
    got = reading(ToolMessage("a\ud83db", tool_call_id="1", name="get"))
    assert isinstance(got.value, ToolMessage)
    assert (got.value.content, got.value.name, got.value.tool_call_id) == ("a�b", "get", "1")
    assert got.repairs == ("NUL or surrogate at $",)


@pytest.mark.row("F2")
@pytest.mark.parametrize(
    ("content", "declared", "kind"),
    [
        ("Error: connection to stock service timed out", {"text_errors": {"timed out": "timeout"}}, "timeout"),
        ("order ids start with '#'", {"text_errors": {"ids start with": "business"}}, "business"),
        ("something odd", {}, "business"),
        ("Request timed out", {}, "timeout"),
        ("Error executing tool pay: ", {}, "unknown"),
        ("", {}, "unknown"),
    ],
)
def test_a_message_that_calls_itself_an_error_is_one(content: str, declared: Any, kind: str) -> None:
    message = ToolMessage(content, tool_call_id="1", status="error")
    got = reading(message, **declared)
    assert got.value is message
    assert got.failure is not None
    assert got.failure.kind == kind


def test_an_error_nobody_can_name_keeps_its_authors_words_and_proves_nothing() -> None:
    failure = failure_of(ToolMessage("it\nbroke\x1b", tool_call_id="1", status="error"))
    assert (failure.kind, failure.message, failure.vague) == ("business", "it broke", True)


@pytest.mark.row("F1")
def test_a_declared_text_error_is_a_rule_and_not_vague() -> None:
    assert not failure_of("order ids start with '#'", text_errors={"ids start with": "business"}).vague


@pytest.mark.row("F1")
@pytest.mark.row("F2")
@pytest.mark.row("E4")
@pytest.mark.parametrize("declared", [{}, {"schema": ORDER}, {"envelope": EnvelopePolicy()}])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError("slow"), "timeout"),
        (ConnectionRefusedError("no"), "connection"),
        (ValueError("no such order"), "business"),
        (RuntimeError("boom"), "unknown"),
        (asyncio.CancelledError(), "cancelled"),
        (GraphInterrupt(), "unknown"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_that_is_returned_is_no_value(error: BaseException, kind: str, declared: Any) -> None:
    got = reading(error, **declared)
    assert got.failure is not None
    assert (got.failure.kind, got.shown, got.data) == (kind, None, None)


# --- bad successes ---


@pytest.mark.row("F1")
@pytest.mark.case("case-X01")
def test_a_success_that_reports_a_status_of_500_is_a_failure() -> None:
    raw = {"status": "success", "status_code": 500, "data": {"error": "db down"}}
    assert failure_of(raw).kind == "server_error"


@pytest.mark.row("F1")
@pytest.mark.case("case-X02")
@pytest.mark.parametrize(
    ("raw", "kind", "data"),
    [
        ({"code": 500, "msg": "系统繁忙", "data": None}, "overloaded|server_error", None),
        ({"code": "0", "msg": "ok", "data": {}}, None, {}),
        ({"code": 200, "message": "success", "data": {"id": "A"}}, None, {"id": "A"}),
        ({"code": 404, "msg": "订单不存在", "data": None}, "not_found", None),
        ({"code": 0, "data": None}, "schema", None),
        ({"code": 0, "msg": "accepted"}, None, None),
        ({"msg": "ok", "data": {}}, "schema", None),
        ([1], "schema", None),
        ("plain text", "schema", None),
        ('{"code": 0, "data": [1]}', None, [1]),
    ],
)
def test_a_declared_envelope_is_opened(raw: Any, kind: str | None, data: Any) -> None:
    got = reading(raw, envelope=WRAPPED)
    assert got.value is raw
    assert got.data == data
    assert got.failure is None if kind is None else got.failure is not None and got.failure.kind in kind.split("|")


@pytest.mark.case("case-X02")
def test_null_data_is_an_answer_where_the_envelope_says_so() -> None:
    nullable = EnvelopePolicy(nullable=True)
    for raw in ({"code": 0, "data": None}, {"code": 0}):
        assert reading(raw, envelope=nullable, schema=ORDER) == Reading(raw, None)
    assert failure_of({"code": 0}, envelope=WRAPPED, schema=ORDER).reason == "schema: required 'data' missing at $"


@pytest.mark.row("E2")
def test_outer_fields_are_missed_before_inner_ones() -> None:
    for raw, missing in (
        ({}, "'code' missing at $"),
        ({"code": 0}, "'data' missing at $"),
        ({"code": 0, "data": {}}, "'id' missing at $.data"),
    ):
        got = reading(raw, envelope=WRAPPED, schema=ORDER)
        assert got.failure is not None
        assert got.failure.kind == "schema"
        if raw:
            assert got.failure.reason == f"schema: required {missing}"
    assert failure_of({"code": 0, "data": {"id": "A", "amount": "x"}}, envelope=WRAPPED, schema=ORDER).cause is not None


@pytest.mark.row("E2")
def test_a_fault_inside_an_envelope_is_located_from_the_outside() -> None:
    failure = failure_of({"code": 0, "data": {"id": "A", "amount": "9"}}, envelope=WRAPPED, schema=ORDER)
    assert failure.reason == "schema: number expected, string found at $.data.amount"
    assert isinstance(failure.cause, ToolSchemaError)
    assert failure.cause.path == "$.data.amount"


@pytest.mark.row("F1")
@pytest.mark.case("case-X04")
@pytest.mark.parametrize(
    ("text", "kind", "transient", "message"),
    [
        ("Error: order not found", "not_found", False, "Error: order not found"),
        ("Error: timeout", "timeout", True, ""),
        ("Error: id must start with '#'", "business", False, "Error: id must start with '#'"),
    ],
)
@pytest.mark.parametrize("schema", [None, ORDER])
@pytest.mark.parametrize("block", [False, True])
def test_a_declared_error_text_is_named(
    text: str, kind: str, transient: bool, message: str, schema: Any, block: bool
) -> None:
    texts = {"not found": "not_found", r"(?i)timeout\b": "timeout", "must start with": "business"}
    raw = [{"type": "text", "text": text}] if block else text
    failure = failure_of(raw, text_errors=texts, schema=schema)
    assert (failure.kind, failure.transient, failure.message) == (kind, transient, message)


@pytest.mark.row("F1")
def test_an_error_text_is_looked_for_at_the_beginning() -> None:
    assert reading("ok " + "x" * 100_000 + "Error: timeout", text_errors={"timeout": "timeout"}).failure is None


# --- schemas, and texts that hold JSON ---


@pytest.mark.row("E2")
def test_json_text_is_validated_and_stays_the_text_it_was() -> None:
    raw = '{"id": "A",  "amount": 1}'
    got = reading(raw, schema=ORDER)
    assert got.value is raw
    assert got.data == {"id": "A", "amount": 1}


@pytest.mark.row("E2")
@pytest.mark.row("F2")
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("Your order is on its way", "text that is not JSON at $"),
        ('{"id": "A"}', "required 'amount' missing at $"),
        ("null", "object expected, null found at $"),
        ("[" * 100_000, "nested too deeply to be read at $"),
        ('{"id":' * 200 + "1" + "}" * 200, "nested deeper than 100 at $.id.id"),
        ({"id": "A", "amount": math.nan}, "number expected, null found at $.amount"),
        (Parcel("A", math.inf), "number expected, null found at $.amount"),
    ],
)
def test_what_breaks_the_schema_is_schema_and_nothing_else(raw: Any, reason: str) -> None:
    failure = failure_of(raw, schema=ORDER)
    assert failure.kind == "schema"
    assert failure.reason.startswith(f"schema: {reason}")
    assert not failure.transient


@pytest.mark.row("F2")
def test_a_cut_answer_is_a_schema_failure() -> None:
    assert failure_of('{"id": "A", "amo', schema=ORDER).kind == "schema"
    assert (
        read('{"id": "A", "amo', classify=lambda *_, **__: None, schema_validator=compile_schema(ORDER)).failure
        is not None
    )


@pytest.mark.row("E2")
@pytest.mark.parametrize(
    ("schema", "raw", "data"),
    [
        ({"type": "string"}, "123", "123"),
        ({"type": "string"}, "plain", "plain"),
        ({"type": ["string", "object"]}, "{}", "{}"),
        ({"type": "number"}, "42", 42),
        ({}, "anything", "anything"),
        ({"required": ["id"]}, '{"id": 1}', {"id": 1}),
    ],
)
def test_a_schema_that_means_text_gets_text(schema: Any, raw: str, data: Any) -> None:
    assert reading(raw, schema=schema or {"$comment": "anything"}) == Reading(raw, data)


@pytest.mark.row("E2")
def test_a_schema_about_fields_does_not_pass_a_bare_text() -> None:
    assert failure_of("anything", schema={"required": ["id"]}).reason == "schema: text that is not JSON at $"


@pytest.mark.row("E2")
def test_a_text_inside_an_envelope_is_a_value_like_any_other() -> None:
    raw = {"code": 0, "data": "12 in stock"}
    assert reading(raw, envelope=WRAPPED, schema={"type": "string"}) == Reading(raw, "12 in stock")


@pytest.mark.row("E2")
def test_a_single_text_block_is_read_as_its_text() -> None:
    raw = [{"type": "text", "text": '{"id": "A", "amount": 1}', "id": "b1"}]
    got = reading(raw, schema=ORDER)
    assert got.value is raw
    assert got.data == {"id": "A", "amount": 1}
    blocks = {"type": "array", "items": {"required": ["type"]}}
    assert reading(raw, schema=blocks).data is raw


@pytest.mark.row("E2")
def test_objects_are_validated_in_their_json_form_and_handed_on_as_they_are() -> None:
    for raw in (Parcel("A", 1.0), Order(id="A", amount=1.0), {"id": "A", "amount": 1.0, "tags": ("x",)}):
        got = reading(raw, schema=ORDER)
        assert got.value is raw
        assert isinstance(got.data, dict)
        assert got.data["amount"] == 1.0


@pytest.mark.row("E2")
def test_an_instance_of_the_declared_model_has_been_validated_already() -> None:
    raw = Order.model_construct(id="A", amount="whatever")
    validator = compile_schema(Order)
    assert read(raw, classify=classify, schema_validator=validator).failure is None
    assert read({"id": "A"}, classify=classify, schema_validator=validator).failure is not None


# --- repairs ---


@pytest.mark.row("E1")
@pytest.mark.case("case-X08")
def test_a_repaired_answer_keeps_the_form_it_came_in() -> None:
    text = '{"code":0,"data":{"amount":NaN,"note":"a\\u0000b"}}'
    data = {"amount": None, "note": "ab"}
    repairs = ("non-finite number at $.data.amount", "NUL or surrogate at $.data.note")
    whole = {"code": 0, "data": data}
    block = {"type": "text", "text": text, "id": "b1"}
    for raw, value in (
        (text, json.dumps(whole)),
        (json.loads(text), whole),
        ([block], [{**block, "text": json.dumps(whole)}]),
    ):
        assert reading(raw, envelope=WRAPPED) == Reading(value, data, None, repairs)


@pytest.mark.row("E1")
@pytest.mark.case("case-T14")
@pytest.mark.parametrize("number", [1917043659912705296, 4200001234202501011234567890])
@pytest.mark.parametrize("kind", ["integer", "string"])
def test_a_large_id_passes_its_schema_and_goes_on_as_text(number: int, kind: str) -> None:
    schema = {"type": "object", "properties": {"order_id": {"type": kind}}}
    for raw, value in (
        ({"order_id": number}, {"order_id": str(number)}),
        (f'{{"order_id": {number}}}', f'{{"order_id": "{number}"}}'),
    ):
        assert reading(raw, schema=schema) == Reading(
            value, {"order_id": str(number)}, None, ("large integer at $.order_id",)
        )


@pytest.mark.row("E2")
@pytest.mark.case("case-X11")
def test_a_time_in_the_wrong_unit_is_put_right_everywhere() -> None:
    raw = {"code": 0, "data": {"id": "A", "amount": 1, "at": 1755302400000}}
    got = reading(raw, envelope=WRAPPED, schema=ORDER)
    data = {"id": "A", "amount": 1, "at": 1755302400}
    assert got == Reading({"code": 0, "data": data}, data, None, ("unit of time at $.data.at",))
    assert raw["data"] == {"id": "A", "amount": 1, "at": 1755302400000}
    wrong = {"code": 0, "data": {"id": "A", "amount": 1, "at": 5}}
    assert (
        failure_of(wrong, envelope=WRAPPED, schema=ORDER).reason == "schema: a time outside 2000 to 2100 at $.data.at"
    )


@pytest.mark.row("E1")
def test_a_cycle_fails_the_call_and_not_the_run() -> None:
    raw: list[Any] = []
    raw.append(raw)
    assert failure_of(raw).reason == "schema: a value that contains itself at $[0]"


@pytest.mark.row("E1")
def test_the_last_frame_of_the_stack_is_still_a_schema_failure() -> None:
    raw: Any = (1,)
    for _ in range(90):
        raw = {"in": raw}
    quiet = partial(read, raw, classify=lambda *_, **__: None)

    def at_the_bottom(left: int) -> Reading:
        return quiet() if left == 0 else at_the_bottom(left - 1)

    depth = len(list(iter_frames()))
    got = at_the_bottom(sys.getrecursionlimit() - depth - 60)
    assert got.failure is not None
    assert got.failure.reason == "schema: nested too deeply to be read at $"


def iter_frames() -> Iterator[Any]:
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]


# --- bytes ---


@pytest.mark.row("E1")
@pytest.mark.case("case-X07")
def test_bytes_are_shown_as_what_they_say_and_handed_on_as_bytes() -> None:
    raw = '{"状态": "已发货"}'.encode("gbk")
    got = reading(raw)
    assert got.value is raw
    assert got.shown == got.data == {"状态": "已发货"}


@pytest.mark.row("E1")
def test_an_image_is_a_failure_only_where_structure_was_promised() -> None:
    raw = b"\x89PNG\r\n\x1a\n\0\0"
    assert reading(raw) == Reading(raw, "<10 bytes>")
    assert failure_of(raw, schema=ORDER).reason == "schema: not text in any known charset at $"


@pytest.mark.row("E1")
def test_a_classifier_sees_what_bytes_say() -> None:
    assert failure_of(b'{"errcode": 45009, "errmsg": "api freq out of limit"}').kind == "rate_limit"


# --- over a real wire ---

BODY = {"code": 0, "data": {"id": "订单 A", "amount": 1}}
TEXT = json.dumps(BODY, ensure_ascii=False)


class Backend(ThreadingHTTPServer):
    """Serves whatever bytes and headers a test sets."""

    def __init__(self) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:  # noqa: N805 - the name http.server calls; `self` is the server here
                handler.send_response(self.status)
                for name, value in {**self.headers, "Content-Length": str(len(self.body))}.items():
                    handler.send_header(name, value)
                handler.end_headers()
                handler.wfile.write(self.body)

            def log_message(handler, *_: Any) -> None:  # noqa: N805 - as above
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body = 200, b""
        self.headers: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    with Backend() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.row("F1")
@pytest.mark.case("case-X07")
@pytest.mark.parametrize("get", [httpx.get, httpx2.get, requests.get], ids=["httpx", "httpx2", "requests"])
@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\xef\xbb\xbf" + TEXT.encode(), "application/json"),
        (TEXT.encode("gbk"), "application/json; charset=utf-8"),
        (TEXT.encode("gbk"), "application/json; charset=gbk"),
        (TEXT.encode(), "application/json; charset=gbk"),
        (TEXT.encode(), "application/json; charset=no-such-thing"),
    ],
    ids=["bom", "gbk-as-utf8", "gbk", "utf8-as-gbk", "odd-header"],
)
def test_a_response_is_read_in_the_charset_it_is_in(backend: Backend, get: Any, body: bytes, content_type: str) -> None:
    backend.status, backend.body, backend.headers = 200, body, {"Content-Type": content_type}
    response = get(backend.url)
    got = reading(response, envelope=WRAPPED, schema=ORDER)
    assert got.failure is None
    assert got.value is response
    assert got.data == BODY["data"]


@pytest.mark.row("F1")
@pytest.mark.case("case-X07")
def test_a_lone_surrogate_on_the_wire_reaches_no_model(backend: Backend) -> None:
    backend.status, backend.headers = 200, {"Content-Type": "application/json"}
    backend.body = b'{"code":0,"data":{"id":"\\ud83d","amount":1}}'
    got = reading(httpx.get(backend.url), envelope=WRAPPED, schema=ORDER)
    assert got.data == {"id": "�", "amount": 1}
    assert got.repairs == ("NUL or surrogate at $.data.id",)


@pytest.mark.row("F1")
@pytest.mark.case("case-X07")
def test_a_body_wrongly_said_to_be_zipped_is_read_from_the_plain_client(backend: Backend) -> None:
    backend.status, backend.body = 200, TEXT.encode()
    backend.headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    with urllib.request.urlopen(backend.url) as answer:
        assert reading(answer.read(), envelope=WRAPPED, schema=ORDER).data == BODY["data"]
    with pytest.raises(httpx.DecodingError) as caught:
        httpx.get(backend.url)
    failure = classify(caught.value)
    assert failure is not None
    assert failure.kind == "schema"


@pytest.mark.row("F1")
@pytest.mark.case("case-X01")
def test_a_response_with_a_bad_status_is_judged_by_it(backend: Backend) -> None:
    backend.status, backend.body, backend.headers = 500, b'{"error": "db down"}', {"Content-Type": "application/json"}
    failure = failure_of(httpx.get(backend.url), schema=ORDER)
    assert (failure.kind, failure.status) == ("server_error", 500)
