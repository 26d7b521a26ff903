"""Exceptions, bare and wrapped: the same fault has the same kind and the same words, whoever raised it."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import socket
import sqlite3
import ssl
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import httpx
import httpx2
import openai
import psycopg
import psycopg_pool
import pydantic
import pytest
import redis
import requests
import urllib3
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import exceptions as langchain_errors
from langchain_core.exceptions import OutputParserException
from langchain_core.tools import ToolException
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphInterrupt, GraphRecursionError, NodeCancelledError, NodeTimeoutError, ParentCommand
from langgraph.types import Command
from redis.backoff import NoBackoff
from redis.retry import Retry

from langgraph_degrade import errors
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.failures.classes import Fault, fault_named
from tests.servers.clients import ERRORS, ask, chat, outcome_of
from tests.servers.faults import FaultServer, Reply, sse

pytestmark = pytest.mark.row("F1")


def failure_of(outcome: object, **terms: Any) -> Failure:
    failure = classify(outcome, **terms)
    assert failure is not None
    return failure


def raised(*chain: BaseException) -> BaseException:
    """The first of `chain`, raised from the second, raised from the third …"""
    for outer, inner in itertools.pairwise(chain):
        outer.__cause__ = inner
    return chain[0]


def not_json() -> ValueError:
    return json.JSONDecodeError("Expecting value", "{", 1)


def not_utf8() -> UnicodeDecodeError:
    return UnicodeDecodeError("utf-8", b"\xc4", 0, 1, "invalid continuation byte")


def wrong_shape() -> pydantic.ValidationError:
    error = outcome_of(lambda: pydantic.TypeAdapter(int).validate_python("many"))
    assert isinstance(error, pydantic.ValidationError)
    return error


REQUEST = httpx.Request("GET", "http://shop.test")


@pytest.mark.parametrize(
    ("error", "kind", "reason", "unsent"),
    [
        (TimeoutError(), "timeout", "timeout", False),
        (httpx.ConnectTimeout("x"), "timeout", "connect timeout", True),
        (httpx2.PoolTimeout("x"), "timeout", "pool timeout", True),
        (httpx.ReadTimeout("x"), "timeout", "read timeout", False),
        (httpx2.WriteTimeout("x"), "timeout", "write timeout", False),
        (requests.ConnectTimeout("x"), "timeout", "connect timeout", True),
        (requests.ReadTimeout("x"), "timeout", "read timeout", False),
        (aiohttp.ConnectionTimeoutError("x"), "timeout", "connect timeout", True),
        (aiohttp.SocketTimeoutError("x"), "timeout", "read timeout", False),
        (NodeTimeoutError("plan", 3.0, kind="run", run_timeout=2.0), "timeout", "timeout", False),
        (langchain_errors.ModelTimeoutError("x"), "timeout", "timeout", False),
        (psycopg_pool.PoolTimeout("x"), "timeout", "pool timeout", True),
        (psycopg.errors.QueryCanceled("x"), "timeout", "sqlstate 57014", False),
        (redis.TimeoutError("x"), "timeout", "timeout", False),
        (socket.gaierror(-2, "Name or service not known"), "connection", "name not resolved", True),
        (ConnectionRefusedError(), "connection", "connection refused", True),
        (ConnectionResetError(), "connection", "connection reset", False),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "connection", "network unreachable", True),
        (ssl.SSLCertVerificationError("x"), "connection", "tls", True),
        (httpx.ConnectError("x"), "connection", "no connection", True),
        (httpx2.RemoteProtocolError("x"), "connection", "connection lost", False),
        (httpx.ReadError("x"), "connection", "connection lost", False),
        (requests.exceptions.ChunkedEncodingError("x"), "connection", "connection lost", False),
        (aiohttp.ServerDisconnectedError(), "connection", "connection lost", False),
        (aiohttp.ClientPayloadError(), "connection", "connection lost", False),
        (urllib3.exceptions.IncompleteRead(1, 2), "connection", "connection lost", False),
        (langchain_errors.ModelConnectionError("x"), "connection", "connection lost", False),
        (redis.ConnectionError("x"), "connection", "connection lost", False),
        (errors.IncompleteStream("x"), "connection", "connection lost", False),
        (not_json(), "schema", "not json", False),
        (requests.JSONDecodeError("Expecting value", "{", 1), "schema", "not json", False),
        (not_utf8(), "schema", "not decodable", False),
        (httpx.DecodingError("x"), "schema", "not decodable", False),
        (wrong_shape(), "schema", "breaks its schema", False),
        (
            errors.ToolSchemaError("price missing", path="$.data.price"),
            "schema",
            "breaks its schema at $.data.price",
            False,
        ),
        (OutputParserException("no JSON here"), "schema", "unusable answer", False),
        (langchain_errors.ModelRateLimitError("x"), "rate_limit", "rate limit", False),
        (langchain_errors.ModelAPIError("x"), "server_error", "server error", False),
        (langchain_errors.ModelAuthenticationError("x"), "auth", "not authorised", False),
        (langchain_errors.ModelPermissionDeniedError("x"), "auth", "not authorised", False),
        (langchain_errors.ModelInvalidRequestError("x"), "bad_request", "invalid request", False),
        (langchain_errors.ModelNotFoundError("x"), "not_found", "not found", False),
        (langchain_errors.ContextOverflowError("x"), "context_overflow", "context window", False),
        (langchain_errors.ModelRefusalError("x"), "refusal", "refusal", False),
        (psycopg.errors.UniqueViolation("x"), "business", "sqlstate 23505", False),
        (psycopg.errors.UndefinedTable("x"), "incompatible", "sqlstate 42P01", False),
        (psycopg.errors.InvalidPassword("x"), "auth", "sqlstate 28P01", False),
        (psycopg.errors.TooManyConnections("x"), "overloaded", "sqlstate 53300", False),
        (psycopg.errors.SerializationFailure("x"), "overloaded", "sqlstate 40001", False),
        (psycopg.OperationalError("x"), "connection", "connection lost", False),
        (redis.AuthenticationError("x"), "auth", "not authorised", False),
        (redis.BusyLoadingError("x"), "overloaded", "overloaded", False),
        (redis.ResponseError("x"), "server_error", "server error", False),
        (httpx.TooManyRedirects("x"), "incompatible", "redirects in circles", False),
        (httpx.UnsupportedProtocol("x"), "bad_request", "invalid address", True),
        (PermissionError("x"), "auth", "not authorised", False),
        (GraphRecursionError("x"), "budget", "budget spent", False),
        (NodeCancelledError("plan"), "cancelled", "cancelled", False),
        (asyncio.CancelledError(), "cancelled", "cancelled", False),
        (KeyboardInterrupt(), "cancelled", "cancelled", False),
        (errors.CircuitOpen("x"), "open", "circuit open", False),
        (errors.BudgetSpent("x"), "budget", "budget spent", False),
        (errors.DeadlineExceeded("x"), "deadline", "deadline exceeded", False),
        (errors.Overloaded("x"), "shed", "refused here", False),
        (errors.UnknownOutcome("x"), "unknown", "outcome unknown", False),
        (KeyError("x"), "unknown", "KeyError", False),
        (RuntimeError("x"), "unknown", "RuntimeError", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize("source", ["tool", "model"])
def test_every_class_has_its_kind(error: BaseException, kind: str, reason: str, unsent: bool, source: Any):
    failure = failure_of(error, source=source)
    assert (failure.kind, failure.reason, failure.unsent) == (kind, reason, unsent)
    assert failure.transient == (kind in {"timeout", "connection"})
    assert failure.cause is error


@pytest.mark.row("F2")
@pytest.mark.parametrize(
    "wrap", [RuntimeError("x"), Exception("x"), ToolException("x"), OutputParserException("x"), OSError("x")]
)
@pytest.mark.parametrize(
    "fault",
    [not_json(), not_utf8(), httpx.ReadTimeout("x"), httpx.ConnectError("x"), errors.CircuitOpen("x")],
    ids=lambda fault: type(fault).__name__,
)
def test_a_wrapper_changes_nothing(wrap: BaseException, fault: BaseException):
    wrapped = failure_of(raised(wrap, Exception("middle"), fault))
    assert wrapped == failure_of(fault)
    assert wrapped.cause is wrap


@pytest.mark.row("F2")
def test_a_fault_is_found_however_it_is_wrapped():
    def from_cause() -> None:
        try:
            raise httpx.ReadTimeout("slow")
        except httpx.ReadTimeout as error:
            raise RuntimeError("stock service") from error

    def in_context() -> None:
        try:
            raise httpx.ReadTimeout("slow")
        except httpx.ReadTimeout:
            raise RuntimeError("stock service")  # noqa: B904

    def hidden() -> None:
        try:
            raise httpx.ReadTimeout("slow")
        except httpx.ReadTimeout:
            raise RuntimeError("stock service") from None

    def as_argument() -> None:
        raise RuntimeError("stock service", httpx.ReadTimeout("slow"))

    def in_group() -> None:
        raise ExceptionGroup("tasks", [RuntimeError("first", httpx.ReadTimeout("slow"))])

    for way in (from_cause, in_context, hidden, as_argument, in_group):
        failure = failure_of(outcome_of(way))
        assert (failure.kind, failure.reason) == ("timeout", "read timeout"), way.__name__


@pytest.mark.row("F2")
def test_a_group_takes_the_member_somebody_is_to_blame_for():
    group = BaseExceptionGroup("tasks", [asyncio.CancelledError(), not_json(), asyncio.CancelledError()])
    assert failure_of(group).kind == "schema"
    assert failure_of(BaseExceptionGroup("tasks", [asyncio.CancelledError()])).kind == "cancelled"


@pytest.mark.row("F2")
def test_an_exhausted_ladder_is_named_after_its_first_fault():
    assert failure_of(errors.LadderExhausted("stock", [httpx.ReadTimeout("x"), not_json()])).reason == "read timeout"


@pytest.mark.row("F2")
def test_a_chain_that_bites_its_tail_ends():
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert failure_of(first).kind == "unknown"


@pytest.mark.row("F3")
@pytest.mark.parametrize("signal", [GraphInterrupt(), ParentCommand(Command())])
def test_an_interrupt_or_parent_command_is_not_a_failure(signal: BaseException):
    assert classify(signal) is None


class TestValueErrors:
    def test_a_plain_value_error_of_a_tool_is_a_business_no(self):
        failure = failure_of(ValueError("Order not found"))
        assert (failure.kind, failure.message, failure.transient) == ("business", "Order not found", False)

    def test_of_a_model_it_is_a_bad_answer(self):
        failure = failure_of(ValueError("whatever"), source="model")
        assert (failure.kind, failure.message) == ("schema", "")

    @pytest.mark.parametrize("error", [not_json(), not_utf8(), wrong_shape()], ids=lambda error: type(error).__name__)
    def test_its_subclasses_are_bad_structure(self, error: ValueError):
        assert failure_of(error).kind == "schema"

    def test_raised_over_a_fault_it_is_the_fault(self):
        assert failure_of(raised(ValueError("stock is not available"), httpx.ReadTimeout("x"))).kind == "timeout"

    def test_raised_over_a_failed_look_up_it_stays_a_no(self):
        failure = failure_of(raised(ValueError("no such order"), KeyError("A-1")))
        assert (failure.kind, failure.message) == ("business", "no such order")

    def test_over_a_404_it_keeps_its_own_words(self):
        missing = httpx.HTTPStatusError("x", request=REQUEST, response=httpx.Response(404, request=REQUEST))
        failure = failure_of(raised(ValueError("订单不存在"), missing))
        assert (failure.kind, failure.status, failure.message) == ("not_found", 404, "订单不存在")

    @pytest.mark.parametrize(
        "message",
        [
            "skateboarding-shoes-deluxe-42 are out of stock",
            "SK-100000000012 不存在",
            "password: too short",
            "Bearer bonds: none",
        ],
    )
    def test_a_harmless_message_is_kept_word_for_word(self, message: str):
        assert failure_of(ValueError(message)).message == message

    @pytest.mark.parametrize(
        ("text", "secret"),
        [
            ("rejected key sk-proj-abcdefghijklmnop123456", "abcdefghijklmnop"),
            ("sent Bearer abcdefghijklmnop123456 in vain", "abcdefghijklmnop"),
            ("AKIAABCDEFGHIJKLMNOP has no such right", "ABCDEFGHIJKLMNOP"),
            ("https://admin:hunter22@shop.test is down", "hunter22"),
            ('refused {"api_key": "0123456789"}', "0123456789"),
        ],
    )
    def test_a_secret_is_not_handed_on(self, text: str, secret: str):
        message = failure_of(ValueError(text)).message
        assert secret not in message
        assert "[redacted]" in message

    def test_its_message_is_cleaned_and_capped(self):
        secret = "sk-abcdefghijklmnopqrstuvwx"
        failure = failure_of(ValueError(f"bad\x00 key {secret}\n\ud83d" + "x" * 10_000))
        assert len(failure.message) <= 500
        assert secret not in failure.message
        failure.message.encode()

    @pytest.mark.row("F2")
    @pytest.mark.case("case-S01")
    def test_with_an_error_body_it_is_that_error(self):
        """As `ChatOpenAI` raises it, also within a tool."""
        kinds = {
            failure_of(ValueError({"code": 429, "message": "x"}), source=source).kind for source in ("tool", "model")
        }
        assert kinds == {"rate_limit"}


class TestToolExceptions:
    def test_alone_it_is_the_tools_no(self):
        failure = failure_of(ToolException("card declined"))
        assert (failure.kind, failure.message) == ("business", "card declined")

    @pytest.mark.row("F2")
    def test_with_a_cause_it_is_the_cause(self):
        assert failure_of(raised(ToolException("x"), not_json())).kind == "schema"

    def test_over_a_programming_error_it_stays_the_tools_no(self):
        assert failure_of(raised(ToolException("no such order"), KeyError("A-1"))).kind == "business"


class TestProgrammingErrors:
    """Case F13: only what the decoding of an answer trips over is the model's fault."""

    @pytest.mark.case("case-F13")
    def test_a_template_bug_is_no_bad_answer(self):
        assert failure_of(KeyError("x"), source="model").kind == "unknown"

    @pytest.mark.case("case-F13")
    def test_a_bug_while_the_request_is_built_is_no_bad_answer(self):
        model = ChatOpenAI(model="m", api_key="made-up", base_url="http://127.0.0.1:9", max_retries=0)
        error = outcome_of(lambda: model.invoke([object()]))  # type: ignore[list-item]
        assert failure_of(error, source="model").kind == "unknown"

    @pytest.mark.row("F2")
    @pytest.mark.parametrize("body", [b'{"choices": null}', b'{"choices": []}', b"<html>login</html>", b"{"])
    def test_a_models_bad_answer_is_one_within_a_tool_too(self, body: bytes):
        with FaultServer(Reply(200, {"Content-Type": "application/json"}, body)) as server:
            error = ask(chat(server), "invoke")
        assert [failure_of(error, source=source).kind for source in ("tool", "model")] == ["schema", "schema"]

    @pytest.mark.parametrize("error", [TypeError("x"), AttributeError("x"), AssertionError("x"), RecursionError("x")])
    def test_a_bug_in_a_tool_is_nobodys_no(self, error: Exception):
        failure = failure_of(error)
        assert (failure.kind, failure.message, failure.reason) == ("unknown", "", type(error).__name__)


class TestOwnErrors:
    def test_a_refusal_keeps_its_wait(self):
        assert failure_of(errors.CircuitOpen("x", retry_after=12.5)).retry_after == 12.5

    def test_a_guard_within_a_tool_is_seen_through(self):
        assert failure_of(raised(RuntimeError("x"), errors.CircuitOpen("x", retry_after=3.0))).kind == "open"


class TestTextForm:
    """LangGraph keeps the error of a failed node as its `repr`; after a resume that is all there is."""

    @pytest.mark.row("F2")
    @pytest.mark.parametrize(
        "error",
        [
            httpx.ReadTimeout("timed out"),
            httpx2.ConnectError("refused"),
            not_json(),
            wrong_shape(),
            ConnectionResetError(104, "Connection reset by peer"),
            ValueError("Order not found"),
            NodeTimeoutError("plan", 3.0, kind="run", run_timeout=2.0),
            errors.CircuitOpen("tool:stock is open"),
            requests.ConnectionError("x"),
            langchain_errors.ModelRateLimitError("slow down"),
            ToolException("card declined"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_a_stored_error_has_the_kind_it_had(self, error: Exception):
        serializer = JsonPlusSerializer()
        stored = serializer.loads_typed(serializer.dumps_typed(error))
        assert isinstance(stored, str)
        assert failure_of(stored).kind == failure_of(error).kind

    @pytest.mark.parametrize(
        ("text", "kind", "status"),
        [
            ("HTTPStatusError(\"Client error '404 Not Found' for url 'http://shop.test'\")", "not_found", 404),
            ("HTTPError('503 Server Error: busy for url: http://shop.test')", "overloaded", 503),
            ("RateLimitError(\"Error code: 429 - {'error': {'code': 'insufficient_quota'}}\")", "quota", 429),
            ("APIStatusError('Error code: 402 - no money')", "quota", 402),
            ('Traceback (most recent call last):\n  File "a.py"\nhttpx.ReadTimeout: timed out', "timeout", None),
            ("SomethingError('x')", "unknown", None),
        ],
    )
    def test_what_a_client_writes_into_its_errors_is_read(self, text: str, kind: str, status: int | None):
        failure = failure_of(text)
        assert (failure.kind, failure.status) == (kind, status)

    @pytest.mark.row("F3")
    @pytest.mark.parametrize(
        "text",
        [
            "Order(id=1)",
            "print('Error')",
            "a (b)",
            "Stream(x)",
            "The call raised ReadTimeout('x') twice",
            "Exceeded",
            "CallOutcome(status='ok')",
            "3 validation steps for you",
        ],
    )
    def test_other_texts_are_no_exceptions(self, text: str):
        assert classify(text) is None


class TestOnTheWire:
    """Real faults, real clients: each raises its own class, and all end as the same fault."""

    @pytest.fixture
    def server(self) -> Iterator[FaultServer]:
        with FaultServer() as server:
            yield server

    @pytest.mark.row("F2")
    @pytest.mark.case("case-W02")
    @pytest.mark.parametrize("client", ERRORS)
    @pytest.mark.parametrize("end", ["reset", "cut"])
    def test_a_lost_connection_may_have_been_sent(self, server: FaultServer, client: str, end: Any):
        server.script(Reply(200, {"Content-Type": "application/json"}, b"{" if end == "cut" else b"", end))
        failure = failure_of(ERRORS[client](server.url))
        assert (failure.kind, failure.transient, failure.unsent) == ("connection", True, False)

    @pytest.mark.row("F2")
    @pytest.mark.case("case-W02")
    @pytest.mark.parametrize("client", ERRORS)
    def test_a_refused_connection_was_never_sent(self, client: str):
        failure = failure_of(ERRORS[client](f"http://127.0.0.1:{free_port()}"))
        assert (failure.kind, failure.reason, failure.unsent) == ("connection", "connection refused", True)

    @pytest.mark.row("F2")
    @pytest.mark.case("case-W02")
    @pytest.mark.parametrize("client", ERRORS)
    def test_a_name_that_does_not_resolve_was_never_sent(self, client: str):
        failure = failure_of(ERRORS[client]("http://no-such-host.invalid/"))
        assert (failure.kind, failure.unsent) == ("connection", True)

    @pytest.mark.case("case-M07")
    @pytest.mark.parametrize(
        "ask_quickly",
        [
            lambda url: httpx.get(url, timeout=0.05, verify=False),
            lambda url: httpx2.get(url, timeout=0.05, verify=False),
            lambda url: requests.get(url, timeout=0.05),
            lambda url: urllib3.request("GET", url, timeout=0.05, retries=False),
            lambda url: urllib3.request("GET", url, timeout=0.05, retries=1),
        ],
        ids=["httpx", "httpx2", "requests", "urllib3", "urllib3-retries"],
    )
    def test_silence_is_a_timeout_that_may_have_been_sent(self, server: FaultServer, ask_quickly: Callable[[str], Any]):
        server.script(Reply(end="hang"))
        failure = failure_of(outcome_of(lambda: ask_quickly(server.url)))
        assert (failure.kind, failure.reason, failure.unsent) == ("timeout", "read timeout", False)

    def test_a_body_that_stops_halfway_is_a_timeout_too(self, server: FaultServer):
        """`requests` calls it a `ConnectionError`; what it wraps knows better."""
        server.script(Reply(200, {"Content-Length": "100"}, b"{", "hang"))
        failure = failure_of(outcome_of(lambda: requests.get(server.url, timeout=0.05)))
        assert (failure.kind, failure.reason) == ("timeout", "read timeout")

    @pytest.mark.case("case-X07")
    @pytest.mark.parametrize("client", ERRORS)
    def test_a_lie_about_compression_is_a_bad_answer(self, server: FaultServer, client: str):
        server.script(Reply(200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, b'{"plain": true}'))
        failure = failure_of(ERRORS[client](server.url))
        assert (failure.kind, failure.reason) == ("schema", "not decodable")

    @pytest.mark.case("case-R02")
    def test_a_session_that_retries_by_itself_still_tells_the_status(self, server: FaultServer):
        server.script(Reply(503))
        session = requests.Session()
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=urllib3.Retry(2, status_forcelist=[503])))
        failure = failure_of(outcome_of(lambda: session.get(server.url, timeout=5)))
        assert (failure.kind, failure.status, len(server.requests)) == ("overloaded", 503, 3)

    def test_urllib_tells_statuses_and_reasons(self, server: FaultServer):
        server.script(Reply(503, {"Retry-After": "2"}))
        with outcome_of(lambda: urllib.request.urlopen(server.url)) as error:
            failure = failure_of(error)
        assert (failure.kind, failure.retry_after) == ("overloaded", 2.0)
        refused = failure_of(outcome_of(lambda: urllib.request.urlopen(f"http://127.0.0.1:{free_port()}")))
        assert (refused.kind, refused.reason, refused.unsent) == ("connection", "connection refused", True)

    def test_a_page_where_json_was_expected_is_a_bad_answer(self, server: FaultServer):
        server.script(Reply(200, {"Content-Type": "text/html"}, b"<html>login</html>"))
        assert failure_of(asyncio.run(_aiohttp_json(server.url))).kind == "schema"
        assert failure_of(outcome_of(lambda: httpx.get(server.url, verify=False).json())).kind == "schema"

    @pytest.mark.row("F2")
    @pytest.mark.parametrize("way", ["invoke", "ainvoke"])
    def test_a_chat_model_wraps_and_changes_nothing(self, server: FaultServer, way: str):
        cut = Reply(200, {"Content-Type": "application/json"}, b"{", "cut")
        zipped = Reply(200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, b"{}")
        model = chat(server)
        reasons = [failure_of(ask(model, way), source="model").reason for _ in (server.script(cut),)]
        reasons += [failure_of(ask(model, way), source="model").reason for _ in (server.script(zipped),)]
        refused = ChatOpenAI(model="m", api_key="made-up", base_url=f"http://127.0.0.1:{free_port()}", max_retries=0)
        failure = failure_of(ask(refused, way), source="model")
        assert reasons == ["connection lost", "not decodable"]
        assert (failure.kind, failure.unsent) == ("connection", True)

    def test_a_stream_that_stalls_is_a_timeout(self, server: FaultServer):
        server.script(Reply(200, {"Content-Type": "text/event-stream"}, b": hello\n\n", "hang"))
        model = ChatOpenAI(model="m", api_key="made-up", base_url=server.url, max_retries=0, timeout=0.1)
        failure = failure_of(outcome_of(lambda: list(model.stream("hi"))), source="model")
        assert (failure.kind, failure.reason) == ("timeout", "read timeout")

    def test_a_stream_that_is_reset_is_a_lost_connection(self, server: FaultServer):
        server.script(sse([{"choices": [{"index": 0, "delta": {"content": "A"}}]}], end="reset"))
        assert failure_of(outcome_of(lambda: list(chat(server).stream("hi"))), source="model").kind == "connection"


class TestDatabases:
    def test_sqlite_tells_its_own_codes(self, tmp_path: Any):
        path = tmp_path / "shop.db"
        writer, other = sqlite3.connect(path), sqlite3.connect(path, timeout=0)
        writer.execute("create table orders (id text primary key)")
        writer.execute("insert into orders values ('A')")
        busy = failure_of(outcome_of(lambda: other.execute("insert into orders values ('B')")))
        writer.commit()
        double = failure_of(outcome_of(lambda: writer.execute("insert into orders values ('A')")))
        missing = failure_of(outcome_of(lambda: writer.execute("select * from invoices")))
        closed = failure_of(outcome_of(lambda: sqlite3.connect(tmp_path / "no" / "such.db")))
        for connection in (writer, other):
            connection.close()
        assert [busy.kind, double.kind, missing.kind, closed.kind] == [
            "overloaded",
            "business",
            "incompatible",
            "connection",
        ]

    def test_a_redis_nobody_serves_is_a_refused_connection(self):
        with redis.Redis(port=free_port(), retry=Retry(NoBackoff(), 0)) as client:
            failure = failure_of(outcome_of(client.ping))
        assert (failure.kind, failure.reason, failure.unsent) == ("connection", "connection refused", True)

    def test_a_postgres_nobody_serves_is_a_connection_fault(self):
        failure = failure_of(outcome_of(lambda: psycopg.connect(f"host=127.0.0.1 port={free_port()}")))
        assert (failure.kind, failure.transient) == ("connection", True)

    def test_mysql_codes_are_read_without_its_driver(self):
        class OperationalError(Exception):
            __module__ = "pymysql.err"

        assert failure_of(OperationalError(1205, "Lock wait timeout exceeded")).kind == "timeout"
        assert failure_of(OperationalError(2003, "Can't connect")).unsent


class TestLibrariesThatAreNotHere:
    """Known by name: the classes below stand for packages nobody has to install."""

    def test_botocore_keeps_its_answer_in_a_mapping(self):
        class ClientError(Exception):
            __module__ = "botocore.exceptions"

        error = ClientError("x")
        error.response = {  # type: ignore[attr-defined]
            "Error": {"Code": "ThrottlingException", "Message": "Too many tokens"},
            "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {"Retry-After": "4"}},
        }
        failure = failure_of(error, source="model")
        assert (failure.kind, failure.retry_after, failure.reason) == (
            "rate_limit",
            4.0,
            "http 400: ThrottlingException",
        )

    def test_grpc_names_its_status(self):
        class Code:
            name = "UNAVAILABLE"

        class RpcError(Exception):
            __module__ = "grpc._channel"

            def code(self) -> Code:
                return Code()

        assert failure_of(RpcError()).kind == "overloaded"

    @pytest.mark.parametrize(
        ("code", "kind"), [(408, "timeout"), (-32601, "incompatible"), (-32602, "bad_request"), (-32000, "connection")]
    )
    def test_mcp_speaks_json_rpc(self, code: int, kind: str):
        class ErrorData:
            message = "Timed out while waiting for response"

        class McpError(Exception):
            __module__ = "mcp.shared.exceptions"

        error, error_data = McpError("x"), ErrorData()
        error_data.code = code  # type: ignore[attr-defined]
        error.error = error_data  # type: ignore[attr-defined]
        assert failure_of(error).kind == kind

    def test_an_error_with_a_status_is_an_answer_whoever_raises_it(self):
        class ServerError(Exception):
            __module__ = "google.genai.errors"
            code = 429
            details = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "34s"}]}}

        failure = failure_of(ServerError(), source="model")
        assert (failure.kind, failure.status, failure.retry_after) == ("rate_limit", 429, 34.0)

    def test_a_web_frameworks_own_error_keeps_its_words(self):
        class HTTPException(Exception):
            __module__ = "starlette.exceptions"
            status_code = 404
            detail = "订单不存在"

        failure = failure_of(HTTPException())
        assert (failure.kind, failure.message) == ("not_found", "订单不存在")

    def test_a_circuit_of_another_library_is_open_too(self):
        class CircuitBreakerError(Exception):
            __module__ = "pybreaker"

        assert failure_of(CircuitBreakerError()).kind == "open"

    def test_a_property_with_opinions_is_left_alone(self):
        class OpinionatedError(Exception):
            @property
            def response(self) -> None:
                raise RuntimeError("the request has not been sent")

        assert failure_of(OpinionatedError()).kind == "unknown"


def test_nothing_is_imported_to_understand_a_name():
    before = {name.partition(".")[0] for name in sys.modules}
    failure_of(type("ThrottlingException", (Exception,), {"__module__": "botocore.errorfactory"})())
    assert {name.partition(".")[0] for name in sys.modules} == before


def test_a_bare_name_that_means_several_things_means_nothing():
    assert fault_named("InternalError") == Fault("server_error", "server error")
    assert fault_named("TimeoutError") is not None
    assert fault_named("NoSuchError") is None


@given(
    st.sampled_from([ValueError, RuntimeError, KeyError, OSError, ToolException, openai.OpenAIError]),
    st.text(max_size=80),
)
def test_an_exceptions_text_is_never_its_reason(kind: type[Exception], text: str):
    assert "<<" not in failure_of(kind(f"<<{text}")).reason


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _aiohttp_json(url: str) -> Any:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        try:
            return await response.json()
        except aiohttp.ClientError as error:
            return error


def test_faults_are_told_apart_in_threads_too():
    """Nothing is shared: fifty threads at once see what one sees."""
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(failure_of(not_json()).reason)) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["not json"] * 50
