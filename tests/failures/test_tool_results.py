"""Results of tools that look like successes, and ordinary values that look like failures (F3)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import httpx
import httpx2
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import tool

from langgraph_degrade.failures import ANSWERS, Failure, Kind, classify
from tests.servers.clients import RESPONSES, outcome_of
from tests.servers.faults import FaultServer, Reply, json_reply

pytestmark = pytest.mark.row("F1")


@dataclass(frozen=True)
class Envelope:
    """A declared envelope with the defaults of `EnvelopePolicy`."""

    code: str = "code"
    success: tuple[Any, ...] = (0, "0", 200, "200", "00000", True, "success", "ok")
    transient: tuple[Any, ...] = ()
    business: tuple[Any, ...] = ()
    data: str = "data"
    message: str = "msg"
    nullable: bool = False


def failure_of(outcome: object, **terms: Any) -> Failure:
    failure = classify(outcome, **terms)
    assert failure is not None
    return failure


def kind_of(outcome: object, **terms: Any) -> Kind | None:
    failure = classify(outcome, **terms)
    return failure and failure.kind


def fetched(server: FaultServer) -> list[Any]:
    """The same body as the clients show it: as a response, as text, as bytes, as JSON."""
    responses = [client(server.url) for client in RESPONSES.values()]
    first = responses[0]
    return [*responses, first.text, first.content, first.json()]


ENVELOPES: list[tuple[Any, Kind | None]] = [
    ({"code": 500, "msg": "系统繁忙", "data": None}, "server_error"),
    ({"code": "0", "msg": "ok", "data": {}}, None),
    ({"code": 200, "message": "success", "data": {"id": "A"}}, None),
    ({"errcode": 45009, "errmsg": "api freq out of limit"}, "rate_limit"),
    ({"error_code": 18, "error_msg": "Open api qps request limit reached"}, "rate_limit"),
    ({"success": False, "errorCode": "B0001", "errorMessage": "x"}, "server_error"),
    ({"code": 404, "msg": "订单不存在", "data": None}, "not_found"),
]


class TestEnvelopes:
    @pytest.mark.row("F2")
    @pytest.mark.case("case-X02")
    @pytest.mark.parametrize(("body", "kind"), ENVELOPES)
    def test_common_envelopes_are_recognised_however_they_come(self, server: FaultServer, body: Any, kind: Kind | None):
        server.script(json_reply(body))
        assert {kind_of(outcome) for outcome in fetched(server)} == {kind}

    @pytest.mark.case("case-X02")
    def test_a_no_is_handed_on_in_its_own_words(self):
        failure = failure_of({"code": 404, "msg": "订单不存在", "data": None})
        assert (failure.kind in ANSWERS, failure.message) == (True, "订单不存在")

    @pytest.mark.parametrize(
        ("body", "kind"),
        [
            ({"errcode": -1, "errmsg": "system error"}, "overloaded"),
            ({"errcode": 40001, "errmsg": "invalid credential"}, "auth"),
            ({"errcode": 42001, "errmsg": "access_token expired"}, "auth"),
            ({"errcode": 0, "errmsg": "ok"}, None),
            ({"error_code": 17, "error_msg": "Open api daily request limit reached"}, "quota"),
            ({"error_code": 19, "error_msg": "Open api total request limit reached"}, "quota"),
            ({"error_code": 110, "error_msg": "Access token invalid"}, "auth"),
            ({"error_code": 111, "error_msg": "Access token expired"}, "auth"),
            ({"code": "A0200", "message": "登录失败", "data": None}, "auth"),
            ({"code": "B0100", "message": "系统执行超时", "data": None}, "timeout"),
            ({"code": "B0210", "message": "系统限流", "data": None}, "overloaded"),
            ({"code": "C0200", "message": "第三方执行超时", "data": None}, "timeout"),
            ({"code": "A0501", "message": "请求次数超出限制", "data": None}, "rate_limit"),
            ({"code": "A0999", "message": "库存不足", "data": None}, "business"),
            ({"code": 1, "msg": "订单不存在", "data": None}, "business"),
            ({"code": -1, "msg": "库存不足"}, "business"),
            ({"code": -1, "msg": "系统繁忙，请稍后再试"}, "overloaded"),
            ({"code": -1, "msg": "请求超时"}, "timeout"),
            ({"code": 30123, "message": "该订单已退款", "data": None}, "business"),
            ({"code": 99991400, "msg": "request trigger frequency limit"}, "rate_limit"),
            ({"code": "ORDER_NOT_EXIST", "message": "订单不存在", "data": None}, "not_found"),
            ({"code": 401, "msg": "token 失效"}, "auth"),
            ({"success": False, "message": "库存不足"}, "business"),
            ({"success": False, "error": "timeout"}, "timeout"),
            ({"success": "false", "message": "x", "data": None}, "business"),
            ({"success": False, "data": None}, "business"),
            ({"ok": False, "error": "ratelimited"}, "rate_limit"),
            ({"ok": False, "error": "not_authed"}, "auth"),
            ({"ok": False, "error": "channel_not_found"}, "not_found"),
            ({"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 30"}, "rate_limit"),
            ({"status": "error", "message": "Unable to communicate with database"}, "connection"),
            ({"status": "fail", "message": "A title is required", "data": None}, "business"),
            ({"status": "OVER_QUERY_LIMIT", "error_message": "x", "results": []}, "rate_limit"),
            ({"status": "REQUEST_DENIED", "error_message": "x", "results": []}, "auth"),
            ({"status": 500, "error": "Internal Server Error", "path": "/orders", "timestamp": "2026-01-01T00:00:00Z"}, "server_error"),
            ({"type": "https://shop.test/problems/rate-limit-exceeded", "title": "Slow down", "status": 429, "detail": "x"}, "rate_limit"),
            ({"type": "about:blank", "title": "Not Found", "status": 404, "detail": "No such order"}, "not_found"),
            ({"error": "boom"}, "business"),
            ({"error": "Connection refused"}, "connection"),
            ({"error": "HTTPSConnectionPool(host='x'): Read timed out."}, "timeout"),
            ({"error": "503 Server Error: Service Unavailable for url: http://x"}, "overloaded"),
            ({"error": True, "message": "no such order"}, "business"),
            ({"error": {"code": "NOT_FOUND", "message": "no such order"}}, "not_found"),
            ({"error": {"code": 503, "message": "busy"}}, "overloaded"),
            ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}, "incompatible"),
            ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Internal error"}}, "server_error"),
            ({"errors": [{"message": "x", "extensions": {"code": "UNAUTHENTICATED"}}], "data": None}, "auth"),
            ({"errors": [{"message": "x", "extensions": {"code": "THROTTLED"}}], "data": {"order": None}}, "rate_limit"),
            ({"errors": [{"message": "no such order", "path": ["order"]}], "data": {"order": None}}, "business"),
            ({"errors": [{"status": "404", "title": "Not Found", "detail": "no such order"}]}, "not_found"),
            ({"message": "The given data was invalid.", "errors": {"email": ["required"]}}, "business"),
            ({"Response": {"Error": {"Code": "AuthFailure.SignatureExpire", "Message": "x"}, "RequestId": "r"}}, "auth"),
            ({"Response": {"Error": {"Code": "RequestLimitExceeded", "Message": "x"}, "RequestId": "r"}}, "rate_limit"),
            ({"Response": {"Error": {"Code": "ResourceNotFound.Order", "Message": "x"}, "RequestId": "r"}}, "not_found"),
            ({"RequestId": "r", "HostId": "h", "Code": "Throttling.User", "Message": "x"}, "rate_limit"),
            ({"RequestId": "r", "HostId": "h", "Code": "InvalidVersion", "Message": "x"}, "incompatible"),
            ({"error_response": {"code": 7, "msg": "App Call Limited", "sub_code": "app-call-limited", "sub_msg": "x"}}, "rate_limit"),
            ({"__type": "ResourceNotFoundException", "message": "x"}, "not_found"),
            ({"isError": True, "content": [{"type": "text", "text": "Order not found"}]}, "business"),
            ({"fault": {"faultstring": "x", "detail": {"errorcode": "policies.ratelimit.TooManyRequests"}}}, "rate_limit"),
            ({"status_code": 429, "code": "Throttling", "message": "x", "output": None, "usage": None}, "rate_limit"),
            ({"object": "error", "message": "no such model", "type": "NotFoundError", "param": None, "code": 404}, "not_found"),
            ({"return_code": "FAIL", "return_msg": "签名错误"}, "business"),
            ({"return_code": "SUCCESS", "result_code": "FAIL", "err_code": "ORDER_NOT_EXIST", "err_code_des": "x"}, "not_found"),
            ({"alipay_trade_query_response": {"code": "40004", "msg": "Business Failed", "sub_code": "ACQ.TRADE_NOT_EXIST"}, "sign": "s"}, "not_found"),
        ],
    )  # fmt: skip
    def test_error_reports_have_a_kind_without_any_declaration(self, body: Any, kind: Kind | None):
        assert kind_of(body) == kind

    def test_an_mcp_result_keeps_what_the_server_said(self):
        failure = failure_of({"isError": True, "content": [{"type": "text", "text": "Order not found"}]})
        assert (failure.kind, failure.message) == ("business", "Order not found")

    @pytest.mark.case("case-X02")
    def test_null_data_under_a_success_code_is_a_failure_unless_legitimate(self):
        body = {"code": 0, "msg": "ok", "data": None}
        failure = failure_of(body)
        assert (failure.kind, failure.reason) == ("schema", "data: null")
        assert kind_of({"data": None}) == "schema"
        assert kind_of(body, allow_empty=True) is None
        assert kind_of(body, envelope=Envelope()) == "schema"
        assert kind_of(body, envelope=Envelope(nullable=True)) is None

    @pytest.mark.case("case-X02")
    def test_a_declared_envelope_decides_by_its_sets(self):
        declared = Envelope(
            code="ret", success=(1,), transient=("T1", 503, 45009), business=("E7",), message="info", data="payload"
        )
        assert kind_of({"ret": 1, "info": "", "payload": {}}, envelope=declared) is None
        business = failure_of({"ret": "E7", "info": "该订单已退款"}, envelope=declared)
        assert (business.kind, business.message, business.reason) == ("business", "该订单已退款", "envelope: E7")
        assert kind_of({"ret": "E9", "info": "x"}, envelope=declared) == "business"
        assert kind_of({"ret": 500, "info": "x"}, envelope=declared) == "server_error"
        assert kind_of({"ret": 1, "info": "", "payload": None}, envelope=declared) == "schema"
        missing = failure_of({"result": "ok"}, envelope=declared)
        assert (missing.kind, missing.reason) == ("schema", "envelope: no 'ret'")

    @pytest.mark.row("T1")
    @pytest.mark.case("case-X02")
    def test_what_is_declared_transient_is_tried_again_unless_the_contract_forbids_it(self):
        """X02 wants a retry for the whole set; spec T1 forbids it after a rate limit or an overload."""
        declared = Envelope(transient=("T1", 500, 503, 429))
        told = [failure_of({"code": code, "msg": "x"}, envelope=declared) for code in declared.transient]
        assert [(failure.kind, failure.transient) for failure in told] == [
            ("server_error", True), ("server_error", True), ("overloaded", False), ("rate_limit", False),
        ]  # fmt: skip

    @pytest.mark.parametrize("code", [False, 0.0, None, 1, "01", "OK!"])
    def test_codes_are_compared_with_their_type(self, code: Any):
        assert kind_of({"code": code, "msg": "x", "data": {}}, envelope=Envelope(success=(0, True, "ok"))) is not None

    def test_words_of_success_have_no_case(self):
        assert kind_of({"code": "SUCCESS", "msg": "x", "data": {}}, envelope=Envelope()) is None


class TestResponses:
    @pytest.mark.row("F2")
    @pytest.mark.case("case-R05")
    @pytest.mark.case("case-X01")
    @pytest.mark.parametrize(
        ("status", "body", "kind"),
        [(503, {"msg": "busy"}, "overloaded"), (500, {"error": "db down"}, "server_error"), (429, {}, "rate_limit"),
         (409, {"message": "already refunded"}, "business"), (404, {"message": "订单不存在"}, "not_found")],
    )  # fmt: skip
    def test_a_response_that_is_returned_is_judged_like_one_that_is_raised(
        self, server: FaultServer, status: int, body: Any, kind: Kind
    ):
        server.script(json_reply(body, status))
        responses = [client(server.url) for client in RESPONSES.values()]
        raised = [outcome_of(response.raise_for_status) for response in responses[:3]]
        failures = [failure_of(outcome) for outcome in (*responses, *raised)]
        assert {(failure.kind, failure.status, failure.message) for failure in failures} == {
            (kind, status, body.get("message", "") if kind in ANSWERS else "")
        }

    @pytest.mark.case("case-X01")
    def test_a_tool_that_calls_every_status_a_success_is_not_believed(self):
        result = {"status": "success", "status_code": 500, "data": {"error": "db down"}}
        assert (failure_of(result).kind, failure_of(json.dumps(result)).status) == ("server_error", 500)
        assert kind_of({"statusCode": 503, "headers": {"a": "b"}, "body": "x"}) == "overloaded"
        assert kind_of({"status": "success", "status_code": 200, "data": {}}) is None

    def test_a_body_that_was_not_read_is_left_alone(self, server: FaultServer):
        server.script(json_reply({"error": "boom"}))
        with httpx.Client(verify=False) as client, client.stream("GET", server.url) as response:
            assert classify(response) is None
        with requests.get(server.url, stream=True, timeout=10) as streamed:
            assert classify(streamed) is None
            assert streamed.json() == {"error": "boom"}

    @pytest.mark.parametrize("client", RESPONSES)
    def test_json_that_is_none_is_a_bad_answer(self, server: FaultServer, client: str):
        for body in (b'{"order": {"id": "A', b"", b"<html>login</html>", b"OK"):
            server.script(Reply(200, {"Content-Type": "application/json"}, body))
            assert kind_of(RESPONSES[client](server.url)) == "schema", body
        for body in (b"3", b'"shipped"', b"null", b"true", b" [] "):
            server.script(Reply(200, {"Content-Type": "application/json"}, body))
            assert kind_of(RESPONSES[client](server.url)) is None, body

    @pytest.mark.parametrize(
        ("status", "headers", "kind"),
        [(302, {"Location": "/login"}, "incompatible"), (304, {}, None), (204, {}, None)],
    )
    def test_a_redirect_nobody_follows_brings_nothing(
        self, server: FaultServer, status: int, headers: dict[str, str], kind: Kind | None
    ):
        server.script(Reply(status, headers))
        assert kind_of(httpx.get(server.url, verify=False)) == kind

    @pytest.mark.case("case-X07")
    @pytest.mark.parametrize(
        ("body", "content_type", "given_up"),
        [
            ("\ufeff".encode() + '{"name": "王伟"}'.encode(), "application/json", "schema"),
            ('{"name": "王伟"}'.encode("gbk"), "application/json; charset=utf-8", "schema"),
            ('{"name": "王伟"}'.encode("gbk"), "application/json; charset=gbk", "schema"),
            (b'{"name": "\\ud83d"}', "application/json", None),
        ],
    )
    def test_an_odd_encoding_is_not_yet_a_failure(
        self, server: FaultServer, body: bytes, content_type: str, given_up: Kind | None
    ):
        """Decoding is the business of the room that cleans results; a parser that gave up on it is a bad answer."""
        server.script(Reply(200, {"Content-Type": content_type}, body))
        responses = [client(server.url) for client in RESPONSES.values()]
        assert [kind_of(response) for response in responses] == [None] * len(responses)
        parsed = outcome_of(lambda: json.loads(responses[0].content.decode("utf-8")))
        assert kind_of(parsed) == given_up

    @pytest.mark.case("case-X08")
    @pytest.mark.case("case-X11")
    @pytest.mark.parametrize(
        "body", ['{"code":0,"data":{"amount":NaN,"note":"a\\u0000b"}}', '{"created_at": 1755302400}']
    )
    def test_odd_values_are_not_yet_a_failure(self, server: FaultServer, body: str):
        server.script(json_reply(body))
        assert {kind_of(outcome) for outcome in fetched(server)} == {None}


class TestTexts:
    @pytest.mark.case("case-X04")
    @pytest.mark.parametrize(
        ("text", "kind", "message"),
        [
            ("Error: order not found", "business", "order not found"),
            ("Error: timeout", "timeout", ""),
            ("Error: ids must start with '#'", "business", "ids must start with '#'"),
            ("错误：订单不存在", "business", "订单不存在"),
            ("error executing tool get_order: Connection refused", "connection", ""),
            ("Error: 503 Server Error: busy for url: http://shop.test", "overloaded", ""),
            ("Error: ReadTimeout('slow')", "timeout", ""),
            ("Error: HTTP 402", "business", "HTTP 402"),
            ("Error: insufficient_quota", "business", "insufficient_quota"),
            ("An error occurred: 系统繁忙", "overloaded", ""),
            ("Error: pay is not a valid tool, try one of [refund].", "malformed_call", ""),
            ("Error invoking tool 'refund' with kwargs {} with error:\n amount: Field required", "malformed_call", ""),
        ],
    )
    def test_a_text_that_says_error_first_is_one(self, text: str, kind: Kind, message: str):
        @tool
        def get_order(order_id: str) -> str:
            """Look an order up."""
            return text

        for result in (get_order.invoke({"order_id": "A"}), asyncio.run(get_order.ainvoke({"order_id": "A"}))):
            failure = failure_of(result)
            assert (failure.kind, failure.message) == (kind, message)

    @pytest.mark.case("case-X05")
    def test_a_tools_exception_is_its_no(self):
        @tool
        def bad(x: str) -> str:
            """Fail."""
            raise ValueError("backend down")

        failure = failure_of(outcome_of(lambda: bad.invoke({"x": "1"})))
        assert (failure.kind, failure.message) == ("business", "backend down")

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ('{"order_id": "A", "items": [{"sku": "S', "schema"),
            ('[{"sku": "S-1"}, {"sku": ', "schema"),
            ('{"code": 500, "msg": "x", "data": null}', "server_error"),
            ("<html><head><title>502 Bad Gateway</title></head></html>", "server_error"),
            ("<!DOCTYPE html><html><title>登录 - 商城</title></html>", "schema"),
            ("<html>login</html>", "schema"),
            ("<?xml version='1.0'?><Error><Code>Throttling.User</Code><Message>x</Message></Error>", "rate_limit"),
            ("<Error><Code>NoSuchKey</Code><Message>The key does not exist.</Message></Error>", "not_found"),
            ("<soap:Envelope><soap:Body><soap:Fault><faultcode>soap:Server</faultcode><faultstring>order closed</faultstring></soap:Fault></soap:Body></soap:Envelope>", "business"),
        ],
    )  # fmt: skip
    def test_cut_json_error_pages_and_error_reports_are_failures(self, text: str, kind: Kind):
        assert kind_of(text) == kind
        assert kind_of(text.encode()) == kind


class TestLookAlikes:
    """Spec F3: the look of failure is not failure."""

    pytestmark = pytest.mark.row("F3")

    @pytest.mark.case("case-X10")
    @pytest.mark.parametrize(
        "body",
        [
            {"error": None, "data": {"id": "A"}},
            {"errors": [], "data": {"id": "A"}},
            {"error": "", "code": 0},
            {"errorCount": 0},
            {"error": False, "data": []},
            {"error": {}, "data": {"id": "A"}},
            {"error": 0, "message": "ok"},
            {"error": "none", "result": 3},
            {"error": {"code": 0, "message": ""}, "data": {}},
            {"errors": None},
            {"errors": {}},
            {"err": None, "ok": True},
            {"errcode": 0, "errmsg": ""},
            {"success": True, "error": None, "data": {"id": "A"}},
            {"code": 0, "msg": "", "data": [], "error": None},
        ],
    )
    def test_null_empty_and_zero_are_not_errors(self, server: FaultServer, body: Any):
        server.script(json_reply(body))
        assert {kind_of(outcome) for outcome in fetched(server)} == {None}

    @pytest.mark.case("case-R04")
    @pytest.mark.parametrize(
        "body",
        [
            {"code": 0, "msg": "ok", "data": []}, [], {}, "", "[]", "{}", 0, False, None, {"data": {}}, {"total": 0, "items": []},
            {"code": 1, "msg": "查询成功", "data": []}, {"status": "ZERO_RESULTS", "results": []},
        ],
    )  # fmt: skip
    def test_nothing_found_is_found(self, body: Any):
        assert classify(body) is None

    @pytest.mark.parametrize(
        "value",
        [
            {"order_id": "A", "status": "failed"},
            {"order_id": "A", "status": "error", "message": "label printer jammed"},
            {"status": "error"},
            {"status": "failed"},
            {"status": "failed", "message": "card declined"},
            {"id": "job-1", "status": "failed", "error": "card declined"},
            {"id": "job-1", "error": {"code": "E1", "message": "x"}},
            {"payment_id": "P", "success": False, "message": "card declined"},
            {"success": False},
            {"ok": False},
            {"valid": False, "errors": ["name missing"]},
            {"errors": [{"line": 3, "message": "missing semicolon"}]},
            {"errors": [{"field": "email", "message": "invalid"}], "checked": 3},
            {"error_count": 3, "warnings": 1},
            {"error": 0.05, "mean": 3.2},
            {"error_rate": 0.5},
            {"code": "SKU-1", "data": {"price": 3}},
            {"code": "SAVE10", "message": "10 % off"},
            {"code": "SAVE10", "message": "10 % off", "data": None, "expires": "2026-01-01"},
            {"code": 500, "name": "Antarctica"},
            {"code": 500, "description": "light rain"},
            {"code": "310000", "name": "上海市"},
            {"code": 482913, "message": "您的验证码"},
            {"code": 10000, "msg": "Success", "trade_no": "T"},
            {"code": 1, "msg": "success", "data": {"id": "A"}},
            {"code": 20000, "message": "ok", "data": {"id": "A"}},
            {"url": "https://shop.test", "status_code": 503, "latency": 0.2},
            {"device": "D1", "error_code": 18, "error_msg": "low battery"},
            {
                "data": {"order": {"id": "A"}, "stock": None},
                "errors": [{"message": "stock is slow", "path": ["stock"]}],
            },
            {"data": None, "total": 0},
            {"message": "Your order has an error: 503"},
            {"status": 500, "price": 3},
            {"status": 404, "name": "Li"},
            {"type": "error", "count": 3},
            {"refund": {"error": "card declined"}},
            {"header": {"code": 3}, "rows": []},
            {"choices": []},
            [{"error": "boom"}],
            [{"code": 500, "msg": "x"}],
            ("content", {"error": "boom"}),
            {"balance": 0, "code": "A1", "msg": "余额不足"},
            {"return_code": "SUCCESS", "result_code": "SUCCESS", "return_msg": "OK"},
            {"alipay_trade_query_response": {"code": "10000", "msg": "Success"}, "sign": "s"},
            3.5,
            object(),
        ],
        ids=str,
    )
    def test_an_ordinary_value_is_what_was_asked_for(self, value: Any):
        assert classify(value) is None
        if isinstance(value, dict | list):
            assert classify(json.dumps(value)) is None

    @pytest.mark.parametrize(
        "text",
        [
            "The order has failed.",
            "No error was found",
            "Errors: 0",
            "Error handling: a short guide",
            "HTTP 503 means that the service is not available",
            "error rate 5 %",
            "2026-01-01 12:00 ERROR disk full",
            "Error: " + "x" * 3000,
            "Timeout is 3 s",
            "{name} has {count} items",
            "{not json at all",
            '{"a": 1}\n{"a": 2}',
            "[INFO] started",
            "[draft] letter to the customer",
            "<b>Your order</b> is on its way",
            "<order id='A'/>",
            "<!DOCTYPE html><html><title>Error handling in Python | Galaxy 500</title><body>"
            + "words " * 400
            + "</body></html>",
            "<!DOCTYPE html><html><title>Our summer shoes</title><body>" + "shoes " * 400 + "login</body></html>",
            "订单状态：失败",
            "超时未支付的订单会自动关闭",
            "退款失败的常见原因",
        ],
    )
    def test_a_text_that_talks_about_errors_is_data(self, text: str):
        assert classify(text) is None

    @pytest.mark.parametrize(
        "key", ["error", "errors", "success", "ok", "data", "code", "isError", "status", "status_code"]
    )
    def test_values_with_an_equality_of_their_own_are_data(self, key: str):
        """Arrays and frames answer `==` with an array, whose truth is an error."""

        class Array:
            __hash__ = None  # type: ignore[assignment]

            def __eq__(self, other: object) -> Any:
                return self

            def __bool__(self) -> bool:
                raise ValueError("the truth value of an array is ambiguous")

        assert classify({key: Array()}) is None
        assert classify({key: Array(), "message": "x"}) is None

    def test_depth_and_circles_end(self):
        deep: dict[str, Any] = {}
        deep["error"] = deep
        nested: Any = "x"
        for _ in range(5000):
            nested = [nested]
        assert kind_of(deep) == "business"
        assert kind_of({"error": {"message": nested}}) == "business"
        assert classify("[" * 5000 + "]" * 5000) is None
        assert kind_of(httpx.Response(500, content=b'{"error":' * 5000 + b"1" + b"}" * 5000)) == "server_error"

    def test_a_large_result_is_not_parsed_for_nothing(self):
        rows = json.dumps([{"id": number, "error": None} for number in range(50_000)])
        assert classify(rows) is None

    @given(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
            max_leaves=10,
        )
    )
    def test_no_value_is_too_strange(self, value: Any):
        failure = classify(value)
        assert failure is None or isinstance(failure, Failure)

    @given(st.dictionaries(st.text(min_size=1, max_size=8).map("x_{}".format), st.integers() | st.text() | st.none()))
    def test_keys_of_ones_own_are_never_an_error(self, value: dict[str, Any]):
        assert classify(value) is None

    @given(st.binary(max_size=200), st.sampled_from(["tool", "model"]))
    def test_no_bytes_are_too_strange(self, content: bytes, source: Any):
        for outcome in (content, httpx2.Response(200, content=content), httpx.Response(500, content=content)):
            failure = classify(outcome, source=source)
            assert failure is None or failure.kind


def test_the_classifier_imports_nothing_it_may_meet():
    """Measured by what it brings in: the standard library and this package."""
    code = "import sys; import langgraph_degrade.failures.classifier; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    stub = "import sys, types; package = types.ModuleType('langgraph_degrade'); package.__path__ = ['langgraph_degrade']; sys.modules['langgraph_degrade'] = package; "
    found = subprocess.run(
        [sys.executable, "-c", stub + code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert {name for name in found if not name.startswith("_")} <= set(sys.stdlib_module_names) | {
        "langgraph_degrade",
        "sitecustomize",
    } | set(bare())


def bare() -> list[str]:
    code = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
