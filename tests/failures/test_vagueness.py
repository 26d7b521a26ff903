"""How much a failure proves: words and classes name a kind, but never prove of a write that it was not done (E4)."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import httpx
import httpx2
import psycopg
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from openai import APIConnectionError, RateLimitError

from langgraph_degrade import errors
from langgraph_degrade.failures import Failure, Kind, classify
from langgraph_degrade.policy import EnvelopePolicy

pytestmark = [pytest.mark.row("F1"), pytest.mark.row("E4")]

REQUEST = httpx.Request("POST", "http://shop.test/pay")


def failure_of(outcome: object, **terms: Any) -> Failure:
    failure = classify(outcome, **terms)
    assert failure is not None
    return failure


def answered(status: int, body: Any = None) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError("x", request=REQUEST, response=httpx.Response(status, json=body, request=REQUEST))


def over(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


def unique_violation() -> sqlite3.IntegrityError:
    with sqlite3.connect(":memory:") as database:
        database.execute("create table t (id primary key)")
        with pytest.raises(sqlite3.IntegrityError) as caught:
            database.execute("insert into t values (1), (1)")
    database.close()
    return caught.value


TEXTS: list[tuple[str, Kind]] = [
    ("503 Service Unavailable", "overloaded"),
    ("Request timed out", "timeout"),
    ("Connection reset", "connection"),
    ("Connection reset by peer", "connection"),
    ("rate limit exceeded", "rate_limit"),
    ("Rate limit exceeded, retry in 30 s", "rate_limit"),
    ("ETIMEDOUT", "timeout"),
    ("Payment gateway timed out", "timeout"),
    ("timeout contacting bank", "timeout"),
    ("Lost connection to MySQL server during query", "connection"),
    ("退款超时", "timeout"),
    ("连接失败", "connection"),
    ("数据库连接已断开", "connection"),
    ("连接被重置", "connection"),
    ("系统繁忙，请稍后再试", "overloaded"),
    ("接口被限流", "rate_limit"),
    ("退款结果未知", "unknown"),
    ("处理中", "unknown"),
    ("The refund is pending", "unknown"),
    ("another request is in progress", "unknown"),
    ("unknown outcome", "unknown"),
    ('{"error": {"code": 503}}', "overloaded"),
    ("ReadTimeout('slow')", "timeout"),
    ("Error executing tool pay: ", "unknown"),
    ("Error executing tool pay: 'NoneType' object is not subscriptable", "unknown"),
    ("Error executing tool pay: Request timed out", "timeout"),
    ("Error executing tool pay: ConnectionRefusedError(111, 'x')", "connection"),
    ("Error executing tool pay: Order not found", "business"),
    ("", "unknown"),
    ("card declined", "business"),
    ("insufficient balance", "business"),
    ("ask for the sku", "business"),
    ("订单超时未支付，已关闭", "business"),
    ("Your session timed out", "business"),
    ("pending orders cannot be refunded", "business"),
]


@pytest.mark.row("F2")
@pytest.mark.parametrize(("text", "kind"), TEXTS)
def test_an_error_text_means_the_same_whoever_brings_it_and_proves_nothing(text: str, kind: Kind):
    brought: list[object] = [ToolException(text), ToolMessage(text, tool_call_id="1", status="error")]
    if text and not text.startswith("{"):
        brought.append(f"Error: {text}")
    if text and not text.startswith("{") and "(" not in text:  # the repr of a repr is not looked into
        brought.append(f"Error: {ToolException(text)!r}\n Please fix your mistakes.")
    told = {(failure.kind, failure.vague, failure.unsent) for failure in map(failure_of, brought)}
    assert told == {(kind, True, False)}


def test_a_tools_words_are_handed_on():
    assert failure_of(ToolException("Error executing tool find: 订单不存在")).message == "订单不存在"
    assert failure_of(ToolException("card declined")).message == "card declined"


@pytest.mark.row("F2")
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"success": False, "message": "timeout contacting bank"}, "timeout"),
        ({"error": "ETIMEDOUT"}, "timeout"),
        ({"error": "ENOTFOUND"}, "connection"),
        ({"code": "ECONNRESET", "message": "x"}, "connection"),
        ({"error": "Lost connection to MySQL server during query"}, "connection"),
        ({"success": False, "msg": "退款结果未知"}, "unknown"),
        ({"status": "error", "message": "处理中"}, "unknown"),
        ({"success": False, "message": "refund in progress"}, "unknown"),
        ({"isError": True, "content": [{"type": "text", "text": "Error executing tool pay: boom"}]}, "unknown"),
        ({"success": False, "message": "订单不存在"}, "business"),
        ({"success": False, "message": "insufficient balance"}, "business"),
        ({"error": "out of stock"}, "business"),
        ({"error": "Order not found"}, "business"),
        ({"code": 1, "msg": "库存不足", "data": None}, "business"),
    ],
)
def test_what_a_report_without_a_code_says_is_judged_by_its_words(body: Any, kind: Kind):
    assert failure_of(body).kind == kind


@pytest.mark.row("F3")
@pytest.mark.parametrize(
    "value",
    [{"status": "pending", "id": "A"}, {"message": "处理中", "order": "A"}, {"note": "timed out"}, "refund pending"],
)
def test_a_value_that_speaks_of_an_open_outcome_is_a_value(value: Any):
    assert classify(value) is None


VAGUE: list[object] = [
    FileNotFoundError("x"),
    PermissionError("x"),
    psycopg.IntegrityError("x"),
    psycopg.errors.UniqueViolation("x"),
    psycopg.ProgrammingError("x"),
    psycopg.DataError("x"),
    APIConnectionError(request=httpx2.Request("POST", "http://m.test")),
    {"success": False, "message": "库存不足"},
    {"code": 1, "msg": "订单不存在", "data": None},
    {"error": "not_authed", "ok": False},
    {"isError": True, "content": [{"type": "text", "text": "Order not found"}]},
    "Error: 400 Bad Request",
    "Error: card declined",
    "ValueError('no')",
    over(ValueError("payment failed"), PermissionError("x")),
    over(ValueError("payment failed"), errors.UnknownOutcome("x")),
    over(ValueError("payment failed"), unique_violation()),
    ExceptionGroup("x", [ValueError("no"), RuntimeError("boom")]),
    ExceptionGroup("x", [ValueError("no"), TimeoutError()]),
    ExceptionGroup("x", [answered(400), answered(500)]),
    BaseExceptionGroup("x", [ValueError("no"), asyncio.CancelledError()]),
    unique_violation(),
]


@pytest.mark.parametrize("outcome", VAGUE, ids=repr)
def test_words_and_classes_prove_nothing(outcome: object):
    failure = failure_of(outcome)
    assert (failure.vague, failure.unsent) == (True, False)


CERTAIN: list[object] = [
    answered(400),
    answered(404, {"message": "no such order"}),
    answered(409),
    answered(429),
    over(ToolException("Error executing tool pay: x"), answered(403)),
    RateLimitError("x", response=httpx2.Response(429, request=httpx2.Request("POST", "http://m.test")), body=None),
    ValueError("no such order"),
    ConnectionRefusedError("x"),
    httpx.ConnectTimeout("x"),
    errors.CircuitOpen("x"),
    errors.Overloaded("x"),
    errors.BudgetSpent("x"),
    {"errcode": 40001, "errmsg": "invalid credential"},
    {"code": "ORDER_NOT_EXIST", "message": "订单不存在", "data": None},
    {"code": 404, "msg": "订单不存在", "data": None},
    {"error": {"code": -32602, "message": "x"}, "jsonrpc": "2.0", "id": 1},
    ExceptionGroup("x", [ValueError("no"), answered(429)]),
    ExceptionGroup("x", [ConnectionRefusedError("x"), httpx.ConnectTimeout("x")]),
]


@pytest.mark.parametrize("outcome", CERTAIN, ids=repr)
def test_statuses_codes_and_declared_rules_do(outcome: object):
    assert not failure_of(outcome).vague


def test_a_declared_envelope_is_a_rule_but_the_words_in_it_are_not():
    declared = EnvelopePolicy(business=("E7",))
    named = failure_of({"code": "E7", "msg": "timeout contacting bank"}, envelope=declared)
    left = failure_of({"code": "E9", "msg": "库存不足"}, envelope=declared)
    words = failure_of({"code": "E9", "msg": "退款结果未知"}, envelope=declared)
    assert [(failure.kind, failure.vague) for failure in (named, left, words)] == [
        ("business", False), ("business", False), ("unknown", True),
    ]  # fmt: skip


@pytest.mark.row("F2")
@pytest.mark.parametrize(
    ("members", "kind", "unsent"),
    [
        ((ConnectionRefusedError("x"), TimeoutError("x")), "timeout", False),
        ((ConnectionRefusedError("x"), httpx.ReadError("x")), "connection", False),
        ((ConnectionRefusedError("x"), httpx.ConnectTimeout("x")), "connection", True),
        ((ConnectionRefusedError("x"), RuntimeError("x")), "unknown", False),
        ((answered(400), answered(503)), "overloaded", False),
    ],
)
def test_a_group_is_as_open_as_its_most_open_member(members: tuple[Exception, ...], kind: Kind, unsent: bool):
    for group in (ExceptionGroup("x", members), ExceptionGroup("x", members[::-1])):
        failure = failure_of(group)
        assert (failure.unsent, failure.vague) == (unsent, not unsent)
    assert failure_of(ExceptionGroup("x", members)).kind == kind


def test_over_a_cause_that_says_more_an_empty_text_is_the_cause():
    failure = failure_of(over(ToolException("Error executing tool pay: "), ValueError("no such order")))
    assert (failure.kind, failure.message, failure.vague) == ("business", "no such order", False)
