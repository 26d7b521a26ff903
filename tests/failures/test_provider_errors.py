"""What providers answer when they refuse: the public cases over real sockets, and the rest of their kind."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from langgraph_degrade.failures import Failure, Kind, classify
from tests.servers.clients import CHATS, ERRORS, RESPONSES, ask
from tests.servers.faults import FaultServer, json_reply

pytestmark = pytest.mark.row("F1")


def failure_of(outcome: object, **terms: Any) -> Failure:
    failure = classify(outcome, **{"source": "model", **terms})
    assert failure is not None
    return failure


def answered(status: int, body: Any, headers: dict[str, str] | None = None, **terms: Any) -> Failure:
    """The failure of an answer nobody has to send: the wire is the cases' business."""
    return failure_of(httpx.Response(status, json=body, headers=headers), **terms)


def everywhere(server: FaultServer, model: Any) -> list[Failure]:
    """One scripted answer as every client shows it, raised or returned."""
    raising = (client for name, client in ERRORS.items() if name != "aiohttp")
    outcomes = [client(server.url) for client in (*RESPONSES.values(), *raising)]
    return [failure_of(outcome) for outcome in (*outcomes, *(ask(model, way) for way in CHATS))]


def error(code: Any = None, message: str = "made up", kind: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


INSUFFICIENT_QUOTA = error("insufficient_quota", "quota used up", "insufficient_quota")
WORDED_LIKE_BILLING = {"status": 429, "error": "INSUFFICIENT QUOTA", "message": "concurrent request limit reached"}
TOO_LARGE = "Request too large for model-x on tokens per min (TPM): Limit 30000, Requested 36278."
AZURE_FILTER = {
    "error": {
        "code": "content_filter",
        "param": "prompt",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"jailbreak": {"filtered": True, "detected": True}},
        },
    }
}


@pytest.mark.row("F2")
@pytest.mark.parametrize(
    ("status", "headers", "body", "kind", "wait"),
    [
        pytest.param(429, {"retry-after": "1"}, INSUFFICIENT_QUOTA, "quota", 1.0, marks=pytest.mark.case("case-P01")),
        pytest.param(429, {}, WORDED_LIKE_BILLING, "rate_limit", None, marks=pytest.mark.case("case-P02")),
        pytest.param(
            429, {}, error("rate_limit_exceeded", TOO_LARGE, "tokens"), "context_overflow", None,
            marks=pytest.mark.case("case-P04"),
        ),
        pytest.param(
            429, {}, error("429", "tier exceeded. Please retry after 86400 seconds."), "rate_limit", 86_400.0,
            marks=pytest.mark.case("case-P05"),
        ),
        pytest.param(
            429, {}, error(None, "The engine is currently overloaded, please try again later", "rate_limit_error"),
            "rate_limit", None, marks=pytest.mark.case("case-P08"),
        ),
        pytest.param(
            400, {},
            error("data_inspection_failed", "<400> InternalError.Algo.DataInspectionFailed: x", "data_inspection_failed"),
            "content_filter", None, marks=pytest.mark.case("case-P13"),
        ),
        pytest.param(400, {}, AZURE_FILTER, "content_filter", None, marks=pytest.mark.case("case-P14")),
    ],
)  # fmt: skip
def test_an_answer_is_the_same_fault_through_every_client(
    server: FaultServer, model: Any, status: int, headers: dict[str, str], body: Any, kind: Kind, wait: float | None
):
    server.script(json_reply(body, status, headers))
    failures = everywhere(server, model)
    assert {(failure.kind, failure.status, failure.retry_after) for failure in failures} == {(kind, status, wait)}
    assert len({failure.reason for failure in failures}) == 1
    assert not any(failure.transient for failure in failures)  # P02 wants a retry; spec T1 says none for a 429
    assert len(server.requests) == len(failures)


def test_aiohttp_keeps_no_body_so_its_status_decides(server: FaultServer):
    server.script(json_reply(INSUFFICIENT_QUOTA, 429, {"retry-after": "1"}))
    failure = failure_of(ERRORS["aiohttp"](server.url))
    assert (failure.kind, failure.status, failure.retry_after) == ("rate_limit", 429, 1.0)


@pytest.mark.case("case-P01")
@pytest.mark.case("case-P02")
def test_only_a_structured_code_says_there_is_no_money():
    assert answered(429, error("insufficient_quota")).kind == "quota"
    assert answered(429, error(None, kind="insufficient_quota")).kind == "quota"
    for body in (
        {"error": "insufficient_quota"},
        {"error": "insufficient quota", "code": 429},
        error(None, "You exceeded your current quota, insufficient_quota, please check billing"),
        {"message": "insufficient_quota"},
        error("INSUFFICIENT QUOTA"),
    ):
        assert answered(429, body).kind == "rate_limit", body


def test_a_text_may_say_it_where_nothing_would_be_tried_again_anyway():
    """Anthropic has no code for an empty account; and a customer's empty purse is no provider's."""
    message = "Your credit balance is too low to access the Anthropic API."
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    assert answered(400, body).kind == "quota"
    assert (
        answered(403, {"error": {"message": "You've reached your usage limit for this billing cycle"}}).kind == "quota"
    )
    assert answered(400, {"message": "余额不足"}, source="tool").kind == "bad_request"
    assert answered(503, body).kind == "overloaded"


@pytest.mark.case("case-P04")
@pytest.mark.parametrize(
    ("status", "message", "kind", "limit"),
    [
        (429, TOO_LARGE, "context_overflow", 30_000),
        (413, TOO_LARGE, "context_overflow", 30_000),
        (
            429,
            "Rate limit reached on tokens per min (TPM): Limit 30,000, Used 29,000, Requested 2,000.",
            "rate_limit",
            None,
        ),
        (429, "Rate limit reached (TPM): Limit: 30000, Used 1, Requested: 30000. Try again in 2s", "rate_limit", None),
    ],
)
def test_what_is_larger_than_the_whole_allowance_is_too_large(status: int, message: str, kind: Kind, limit: int | None):
    failure = answered(status, error("rate_limit_exceeded", message, "tokens"))
    assert (failure.kind, failure.limit) == (kind, limit)


ZHIPU: list[tuple[str, Kind]] = [
    ("1301", "content_filter"), ("1261", "context_overflow"), ("1302", "rate_limit"), ("1303", "rate_limit"),
    ("1305", "overloaded"), ("1312", "overloaded"), ("1304", "quota"), ("1308", "quota"), ("1113", "quota"),
    ("1211", "not_found"), ("1234", "server_error"), ("1000", "auth"), ("1003", "auth"), ("1214", "bad_request"),
]  # fmt: skip


@pytest.mark.case("case-P07")
@pytest.mark.parametrize("status", [400, 429, 200])
@pytest.mark.parametrize(("code", "kind"), ZHIPU)
def test_a_vendors_number_says_more_than_its_status(status: int, code: str, kind: Kind):
    assert answered(status, {"error": {"code": code, "message": "..."}}).kind == kind


@pytest.mark.case("case-P07")
def test_the_numbers_reach_us_through_a_chat_model(server: FaultServer, model: Any):
    kinds = []
    for code, _ in ZHIPU:
        server.script(json_reply({"error": {"code": code, "message": "..."}}, 429))
        kinds.append(failure_of(ask(model, "invoke")).kind)
    assert kinds == [kind for _, kind in ZHIPU]


@pytest.mark.case("case-P07")
def test_an_unknown_number_leaves_it_to_the_status():
    assert answered(429, {"error": {"code": "1999", "message": "..."}}).kind == "rate_limit"
    assert answered(400, {"error": {"code": "1999", "message": "..."}}).kind == "bad_request"


@pytest.mark.case("case-P07")
def test_a_usage_cap_tells_when_it_is_lifted():
    now = 1_767_312_000.0  # 2026-01-02 08:00 in Beijing
    message = "已达到 500 次的使用上限。您的限额将在 2026-01-02 08:05:00 重置。"
    failure = answered(429, {"error": {"code": "1308", "message": message}}, now=now)
    assert (failure.kind, failure.retry_after) == ("quota", 300.0)


STATUSES: list[tuple[int, Kind, Kind]] = [  # status, from a model, from a tool
    (400, "bad_request", "bad_request"), (401, "auth", "auth"), (402, "quota", "quota"), (403, "auth", "auth"),
    (404, "not_found", "not_found"), (405, "bad_request", "bad_request"), (408, "timeout", "timeout"),
    (409, "bad_request", "business"), (410, "incompatible", "incompatible"), (412, "bad_request", "business"),
    (413, "context_overflow", "bad_request"), (418, "bad_request", "bad_request"), (422, "bad_request", "bad_request"),
    (423, "bad_request", "business"), (426, "incompatible", "incompatible"), (429, "rate_limit", "rate_limit"),
    (500, "server_error", "server_error"), (501, "server_error", "server_error"), (502, "server_error", "server_error"),
    (503, "overloaded", "overloaded"), (504, "timeout", "timeout"), (505, "incompatible", "incompatible"),
    (520, "server_error", "server_error"), (522, "timeout", "timeout"), (524, "timeout", "timeout"),
    (529, "overloaded", "overloaded"), (302, "incompatible", "incompatible"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "from_model", "from_tool"), STATUSES)
def test_a_status_has_a_kind_even_without_a_body(status: int, from_model: Kind, from_tool: Kind):
    response = httpx.Response(status)
    failures = [failure_of(response, source="model"), failure_of(response, source="tool")]
    assert [failure.kind for failure in failures] == [from_model, from_tool]
    assert {failure.reason for failure in failures} == {f"http {status}"}
    assert all(failure.transient == (failure.kind in {"timeout", "connection"}) for failure in failures)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206, 304])
def test_a_success_is_a_success(status: int):
    assert classify(httpx.Response(status)) is None


def test_statuses_come_through_a_chat_model(server: FaultServer, model: Any):
    """LangChain leaves 402, 408, 409, 410, 413 and 422 unclassified."""
    seen = []
    for status, _, _ in STATUSES:
        server.script(json_reply(error(), status))
        seen.append(failure_of(ask(model, "invoke")).kind)
    assert seen == [kind for _, kind, _ in STATUSES]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        # Anthropic
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded"),
        (500, {"type": "error", "error": {"type": "api_error", "message": "x"}}, "server_error"),
        (500, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "overloaded"),
        (400, {"type": "error", "error": {"type": "billing_error", "message": "x"}}, "quota"),
        (403, {"type": "error", "error": {"type": "permission_error", "message": "x"}}, "auth"),
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-x"}}, "not_found"),
        (413, {"type": "error", "error": {"type": "request_too_large", "message": "x"}}, "context_overflow"),
        (504, {"type": "error", "error": {"type": "timeout_error", "message": "x"}}, "timeout"),
        # OpenAI and Azure
        (404, error("model_not_found"), "not_found"),
        (401, error("invalid_api_key"), "auth"),
        (403, error("unsupported_country_region_territory"), "auth"),
        (400, error("content_policy_violation"), "content_filter"),
        (429, error("billing_hard_limit_reached"), "quota"),
        (503, error(None, "The engine is currently overloaded", "overloaded_error"), "overloaded"),
        (404, {"error": {"code": "DeploymentNotFound", "message": "x"}}, "not_found"),
        (404, {"error": {"code": "UnsupportedApiVersion", "message": "x"}}, "incompatible"),
        (400, {"error": {"code": "InvalidApiVersionParameter", "message": "x"}}, "incompatible"),
        (424, error("server_error"), "server_error"),
        # Gemini
        (429, {"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED"}}, "rate_limit"),
        (503, {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}, "overloaded"),
        (504, {"error": {"code": 504, "message": "x", "status": "DEADLINE_EXCEEDED"}}, "timeout"),
        (403, {"error": {"code": 403, "message": "x", "status": "PERMISSION_DENIED"}}, "auth"),
        (500, {"error": {"code": 500, "message": "x", "status": "INTERNAL"}}, "server_error"),
        (400, {"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT"}}, "bad_request"),
        (400, [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
                          "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}}], "auth"),
        # Bedrock
        (400, {"__type": "com.amazon.coral.service#ThrottlingException", "message": "x"}, "rate_limit"),
        (429, {"__type": "ModelNotReadyException", "message": "x"}, "overloaded"),
        (400, {"__type": "ValidationException", "message": "Malformed input"}, "bad_request"),
        (400, {"__type": "ValidationException", "message": "Input is too long for requested model."}, "context_overflow"),
        (400, {"__type": "ServiceQuotaExceededException", "message": "x"}, "quota"),
        (403, {"__type": "AccessDeniedException", "message": "x"}, "auth"),
        (408, {"__type": "ModelTimeoutException", "message": "x"}, "timeout"),
        # DashScope
        (429, {"code": "Throttling.RateQuota", "message": "x", "request_id": "r"}, "rate_limit"),
        (429, {"code": "Throttling.AllocationQuota", "message": "x"}, "rate_limit"),
        (429, error("limit_requests"), "rate_limit"),
        (400, {"code": "Arrearage", "message": "x"}, "quota"),
        (403, {"code": "AllocationQuota.FreeTierOnly", "message": "x"}, "quota"),
        (400, {"code": "DataInspectionFailed", "message": "x"}, "content_filter"),
        (401, {"code": "InvalidApiKey", "message": "x"}, "auth"),
        (403, {"code": "Model.AccessDenied", "message": "x"}, "auth"),
        (404, {"code": "ModelNotFound", "message": "x"}, "not_found"),
        (500, {"code": "InternalError.Timeout", "message": "x"}, "timeout"),
        (500, {"code": "InternalError.Algo", "message": "x"}, "server_error"),
        (400, {"code": "InvalidParameter", "message": "Range of input length should be [1, 30720]"}, "context_overflow"),
        (503, {"code": "ModelUnavailable", "message": "x"}, "overloaded"),
        # Moonshot, DeepSeek, MiniMax, SiliconFlow, Ark, Spark, Qianfan, Huawei
        (429, error(None, kind="exceeded_current_quota_error"), "quota"),
        (429, error(None, kind="engine_overloaded_error"), "overloaded"),
        (429, error(None, kind="rate_limit_reached_error"), "rate_limit"),
        (402, error("invalid_request_error", "Insufficient Balance", "unknown_error"), "quota"),
        (200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None}, "quota"),
        (200, {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "rate_limit"),
        (200, {"base_resp": {"status_code": 1004, "status_msg": "not authorized"}}, "auth"),
        (200, {"base_resp": {"status_code": 1027, "status_msg": "output sensitive"}}, "content_filter"),
        (200, {"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds limit"}}, "context_overflow"),
        (403, {"code": 30001, "message": "account balance is insufficient", "data": None}, "quota"),
        (503, {"code": 50505, "message": "Model service overloaded", "data": None}, "overloaded"),
        (403, error("AccountOverdueError", kind="Forbidden"), "quota"),
        (429, error("ServerOverloaded", kind="TooManyRequests"), "overloaded"),
        (429, error("RateLimitExceeded.EndpointTPMExceeded", kind="TooManyRequests"), "rate_limit"),
        (400, error("InputTextSensitiveContentDetected", kind="BadRequest"), "content_filter"),
        (404, error("InvalidEndpointOrModel.NotFound", kind="NotFound"), "not_found"),
        (200, {"header": {"code": 10013, "message": "x", "sid": "s", "status": 2}}, "content_filter"),
        (200, {"header": {"code": 11202, "message": "x", "sid": "s", "status": 2}}, "rate_limit"),
        (400, error("tokens_too_long", "Prompt tokens too long", "invalid_request_error"), "context_overflow"),
        (200, {"error_code": 336100, "error_msg": "Try again", "id": "as-1"}, "overloaded"),
        (200, {"error_code": 110, "error_msg": "Access token invalid or no longer valid"}, "auth"),
        (200, {"error_code": 17, "error_msg": "Open api daily request limit reached"}, "quota"),
        (403, {"error_code": "ModelArts.81011", "error_msg": "May contain sensitive"}, "content_filter"),
        # vLLM, Ollama, llama.cpp, text-generation-inference, Groq, LiteLLM, one-api, OpenRouter, Cloudflare
        (400, {"object": "error", "message": "x", "type": "BadRequestError", "param": None, "code": 400}, "bad_request"),
        (404, {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}, "not_found"),
        (404, {"error": "model 'x' not found, try pulling it first"}, "not_found"),
        (500, {"error": "llama runner process has terminated"}, "server_error"),
        (500, {"error": {"code": 500, "message": "context size exceeded", "type": "exceed_context_size_error"}}, "context_overflow"),
        (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", "error_type": "validation"}, "context_overflow"),
        (429, {"error": "Model is overloaded", "error_type": "overloaded"}, "rate_limit"),
        (400, error("tool_use_failed", "Failed to call a function.", "invalid_request_error"), "malformed_call"),
        (413, error("rate_limit_exceeded", "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000", "tokens"), "context_overflow"),
        (400, error("400", "litellm.ContextWindowExceededError: litellm.BadRequestError: x"), "context_overflow"),
        (400, error("400", "litellm.ContentPolicyViolationError: x"), "content_filter"),
        (500, error("500", "litellm.Timeout: x"), "timeout"),
        (429, error("429", "litellm.BudgetExceededError: x"), "rate_limit"),  # text: not final
        (429, error("429", kind="budget_exceeded"), "quota"),
        (403, error("insufficient_user_quota", kind="one_api_error"), "quota"),
        (500, error(429, kind="upstream_error"), "rate_limit"),
        (200, {"error": {"code": 402, "message": "Insufficient credits", "metadata": {}}}, "quota"),
        (429, {"success": False, "errors": [{"code": 10429, "message": "x"}], "messages": [], "result": None}, "rate_limit"),
    ],
)  # fmt: skip
def test_vendors_say_it_in_their_own_codes(status: int, body: Any, kind: Kind):
    assert answered(status, body).kind == kind


@pytest.mark.parametrize(
    ("status", "body", "wait"),
    [
        (429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x", "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}}, 34.0),
        (503, {"error": "Model x is currently loading", "estimated_time": 20.0}, 20.0),
        (429, {"message": "You are being rate limited.", "retry_after": 0.57, "global": False}, 0.57),
        (429, {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 30}}, 30.0),
        (429, {"detail": "Request was throttled. Expected available in 12 seconds."}, 12.0),
        (400, {"error": {"code": 400, "message": "retry after 3 seconds"}}, None),
    ],
)  # fmt: skip
def test_vendors_hide_the_wait_in_the_body(status: int, body: Any, wait: float | None):
    assert answered(status, body).retry_after == wait


def test_a_daily_limit_is_a_quota_and_a_minutes_is_not():
    def exhausted(quota_id: str) -> Kind:
        violation = {"quotaMetric": "generate_requests", "quotaId": quota_id}
        details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}]
        return answered(
            429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x", "details": details}}
        ).kind

    assert exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier") == "quota"
    assert exhausted("GenerateRequestsPerMinutePerProjectPerModel-FreeTier") == "rate_limit"


def test_a_403_with_an_empty_limit_is_a_rate_limit():
    """GitHub says it so."""
    body = {"message": "API rate limit exceeded"}
    spent = answered(403, body, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "60"}, source="tool")
    assert (spent.kind, spent.retry_after) == ("rate_limit", 60.0)
    assert answered(403, body, {"retry-after": "9"}).kind == "rate_limit"
    assert answered(403, body, {"x-ratelimit-remaining": "58"}).kind == "auth"


@pytest.mark.case("case-C08")
@pytest.mark.parametrize(
    ("status", "body", "limit"),
    [
        (400, error("context_length_exceeded", "This model's maximum context length is 4097 tokens"), 4097),
        (400, error("invalid_parameter_error", "Range of input length should be [1, 30720]"), 30_720),
        (
            400,
            error(
                400,
                "maximum context length is 196608 tokens. However, your request has 264175 input tokens",
                "BadRequestError",
            ),
            196_608,
        ),
        (400, error(None, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."), 8192),
        (400, error(None, "The decoder prompt (length 9001) is longer than the maximum model length of 8192."), 8192),
        (400, error(None, "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000"), 200_000),
        (400, error("1261", "Prompt 超长"), None),
        (413, error(None, kind="request_too_large"), None),
        (400, error(None, "prompt is too long: 213462 tokens > 200000 maximum", "invalid_request_error"), 200_000),
        (
            400,
            error(None, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
            1_048_575,
        ),
        (
            400,
            error(None, "Invalid request: Your request exceeded model token limit: 8192", "invalid_request_error"),
            8192,
        ),
        (
            400,
            error(None, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
            32_768,
        ),
        (
            400,
            error(None, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
            131_072,
        ),
        (400, error(None, "Your input exceeds the context window of this model."), None),
        (500, error(None, "the request exceeds the available context size. try increasing it"), None),
        (400, error(None, "Please reduce the length of the messages or completion."), None),
        (400, error(None, "Total message token length exceed model limit (10000 tokens)."), 10_000),
        (400, error(None, "输入长度超过模型最大限制 8192 tokens"), 8192),
    ],
)
def test_a_window_has_many_words(status: int, body: Any, limit: int | None):
    failure = answered(status, body)
    assert (failure.kind, failure.limit) == ("context_overflow", limit)


@pytest.mark.case("case-C08")
@pytest.mark.parametrize(
    "message",
    [
        "Range of max_tokens should be [1, 8192]",
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens",
        "temperature must be <= 2",
    ],
)
def test_an_answer_limit_set_too_high_is_a_bad_request(message: str):
    failure = answered(400, error("invalid_parameter_error", message))
    assert (failure.kind, failure.limit) == ("bad_request", None)


@pytest.mark.row("F3")
@pytest.mark.parametrize(
    "message", ["输入金额超过限额 100", "comment is longer than the context", "Order limit: 5, requested 8"]
)
def test_a_tool_that_finds_something_too_long_has_no_window(message: str):
    assert answered(400, {"message": message}, source="tool").kind == "bad_request"


@pytest.mark.case("case-T13")
@pytest.mark.case("case-F04")
@pytest.mark.case("case-F05")
@pytest.mark.case("case-F07")
@pytest.mark.parametrize(
    "message",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "Thinking mode does not support this tool_choice",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "This response_format type is unavailable now",
    ],
)
def test_a_request_the_model_cannot_take_is_a_bad_request(server: FaultServer, model: Any, message: str):
    server.script(json_reply(error("invalid_request_error", message, "invalid_request_error"), 400))
    failure = failure_of(ask(model, "invoke"))
    assert (failure.kind, failure.message) == ("bad_request", message)


def test_no_secret_and_no_text_gets_into_a_reason():
    key = "sk-proj-abcdefghijklmnop123456"
    failure = answered(401, {"error": {"code": "invalid_api_key", "message": f"Incorrect API key provided: {key}"}})
    assert (failure.reason, failure.message) == ("http 401: invalid_api_key", "")
    refused = answered(400, {"error": {"code": key, "message": f"bad key {key}, Bearer {key}"}})
    assert refused.reason == "http 400"
    assert key not in refused.message


def test_an_error_page_of_a_gateway_is_the_gateways_status():
    failure = failure_of(httpx.Response(502, html="<html><title>502 Bad Gateway</title></html>"))
    assert (failure.kind, failure.reason) == ("server_error", "http 502")


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b'"busy"', b"{", b"\xff\xfe\x00", b"\xc4\xfa\xba\xc3", b"[1, [2]]", b'{"error": [1, null]}'],
)
def test_no_body_is_too_strange(body: bytes):
    failure = failure_of(httpx.Response(500, content=body))
    assert (failure.kind, failure.reason) == ("server_error", "http 500")
