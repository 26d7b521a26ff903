"""What vendors' error codes mean: data, and the look-up.

Sources: the vendors' public error tables (OpenAI, Azure, Anthropic, Gemini and gRPC, Bedrock and AWS, DashScope, Zhipu,
Moonshot, MiniMax, Qianfan and Baidu AI, Ark, Spark, SiliconFlow, Tencent Cloud, Alibaba Cloud, WeChat, DingTalk, Lark,
Alibaba's Java error codes, one-api, LiteLLM, Slack, GraphQL, OAuth, Stripe) and spec F1, P07, X02.

A code is compared without case, `_`, `-`, and a closing `Error` or `Exception`: `rate_limit_error`, `RateLimitError`
and `RATE-LIMIT` are one. Of `Throttling.RateQuota` the whole is tried first, then `Throttling`, then `RateQuota`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from langgraph_degrade.failures.failure import Kind

_CODE: Final = r"[A-Za-z][\w.:/#-]{1,79}"
_ENDINGS: Final[tuple[tuple[str, Kind], ...]] = (
    ("notfound", "not_found"),
    ("notexist", "not_found"),
    ("notexists", "not_found"),
    ("sensitivecontentdetected", "content_filter"),
    ("alreadyexists", "business"),
    ("ratelimitexceeded", "rate_limit"),
    ("toomanyrequests", "rate_limit"),
)


def _folded(code: str) -> str:
    return code.casefold().replace("_", "").replace("-", "")


def _numbers(**listed: str) -> dict[str, Kind]:
    return {number: cast("Kind", kind) for kind, numbers in listed.items() for number in numbers.split()}


def _codes(**listed: str) -> dict[str, Kind]:
    """Turn codes listed by kind round."""
    return {_folded(code): cast("Kind", kind) for kind, codes in listed.items() for code in codes.split()}


_STRONG: Final[Mapping[str, Kind]] = _codes(
    rate_limit="""
        rate_limit rate_limited rate_limit_exceeded rate_limit_reached user_rate_limit_exceeded ratelimit
        too_many_requests throttled throttling request_throttled request_limit_exceeded requests_limit_exceeded
        call_limited app_call_limited concurrency_limit_exceeded provisioned_throughput_exceeded
        prior_request_not_complete limit_requests limit_burst_rate rpm_rate_limit_exceeded tpm_rate_limit_exceeded
        request_burst_too_fast model_account_rpm_rate_limit_exceeded model_account_tpm_rate_limit_exceeded
        account_rate_limit_exceeded resource_exhausted over_query_limit access_too_frequent
        cuqps_has_exceeded_the_limit ckqps_has_exceeded_the_limit ModelArts.81101 ModelArts.81103 A0501 A0502 A0505
    """,
    quota="""
        insufficient_quota insufficient_user_quota pre_consume_token_quota_failed quota_exceeded quota_exhausted
        exceeded_current_quota service_quota_exceeded allocation_quota allocated_quota_exceeded billing_error
        billing_hard_limit_reached billing_not_active payment_required insufficient_balance insufficient_credits
        insufficient_account_balance credit_balance_too_low budget_exceeded usage_limit_reached usage_limit_exceeded
        daily_limit_exceeded daily_query_over_limit user_daily_query_over_limit over_daily_limit set_limit_exceeded
        arrearage account_overdue prepaid_bill_overdue postpaid_bill_overdue commodity_not_purchased
        balance_is_not_enough service_stop_arrears free_resource_pack_exhausted ModelArts.81005
        FailedOperation.ServiceStopArrears FailedOperation.FreeResourcePackExhausted
        FailedOperation.InsufficientAccountBalance FailedOperation.ResourceBalanceInsufficient
    """,
    overloaded="""
        overloaded engine_overloaded server_overloaded model_overloaded service_unavailable unavailable server_busy
        system_busy slow_down model_not_ready model_serving model_unavailable capacity_exceeded resource_unavailable
        no_healthy_upstream upstream_unavailable insufficient_system_resource get_channel_failed B0200 B0210 B0220
        service_not_available
    """,
    timeout="""
        timeout timed_out request_timeout request_timed_out deadline_exceeded gateway_timeout model_timeout
        upstream_timeout response_timeout InternalError.Timeout FailedOperation.RequestTimeout
        channel:response_time_exceeded ETIMEDOUT ESOCKETTIMEDOUT B0100 C0200 C0210 C0220 C0230 C0240 C0250
    """,
    connection="""
        ECONNREFUSED ECONNRESET ECONNABORTED ENOTFOUND EAI_AGAIN EPIPE EHOSTUNREACH ENETUNREACH
    """,
    auth="""
        invalid_api_key incorrect_api_key api_key_invalid authentication authentication_failed unauthenticated
        invalid_authentication permission_error permission_denied unauthorized forbidden access_denied access_terminated
        invalid_token invalid_access_token access_token_expired token_invalid expired_token token_expired token_revoked invalid_grant invalid_client
        unauthorized_client not_authed invalid_auth account_inactive missing_scope insufficient_scope
        account_deactivated organization_deactivated login_required not_login session_expired invalid_access_key_id
        signature_does_not_match invalid_signature auth_failure unauthorized_operation no_permission
        unrecognized_client invalid_client_token_id missing_authentication_token request_denied invalid_user_key
        unsupported_country_region_territory Model.AccessDenied Workspace.AccessDenied ModelArts.81003
        ModelArts.81004 channel:invalid_key A0200 A0220 A0230 A0300 A0301 A0311 A0340
    """,
    not_found="""
        model_not_found model_not_exist not_found resource_not_found no_such_key no_such_bucket deployment_not_found
        record_not_found model_decommissioned model_not_open ModelArts.81009
    """,
    context_overflow="""
        context_length_exceeded context_window_exceeded model_context_window_exceeded context_overflow
        context_too_large string_above_max_length request_too_large exceed_context_size prompt_too_long
        input_too_long tokens_too_long characters_too_long model_max_prompt_tokens_exceeded
    """,
    content_filter="""
        content_filter content_filtered content_policy_violation responsible_ai_policy_violation moderation_blocked
        data_inspection_failed InternalError.Algo.DataInspectionFailed sensitive_words_detected prompt_blocked
        sensitive_content_detected prohibited_content guardrail_intervened image_content_policy_violation
        content_moderation faq_rule_blocked FailedOperation.ContentRisk ModelArts.81011 A0431
    """,
    incompatible="""
        unsupported_api_version api_version_not_supported invalid_api_version invalid_api_version_parameter
        missing_api_version_parameter unsupported_version version_mismatch version_conflict no_such_version
        invalid_version version_not_supported api_deprecated deprecated_api client_too_old upgrade_required
        unimplemented not_implemented method_not_found invalid_action unsupported_protocol
        unsupported_api_for_model A0510
    """,
    malformed_call="tool_use_failed malformed_function_call malformed_tool_use",
    business="""
        conflict already_exists already_exist conditional_check_failed card_declined card_error expired_card
        insufficient_funds incorrect_cvc duplicate_request precondition_failed
    """,
)

_WEAK: Final[Mapping[str, Kind]] = _codes(
    bad_request="""
        invalid_request bad_request invalid_parameter invalid_argument invalid_value missing_parameter param_error
        unsupported_parameter unsupported_value validation validation_failed failed_precondition out_of_range
        unprocessable_entity bad_user_input graphql_validation_failed graphql_parse_failed malformed_json
        InternalError.Algo.InvalidParameter invalid_model invalid_messages unsupported_operation A0400 A0410
    """,
    server_error="""
        server_error internal internal_server internal_failure internal_service api_error backend_error
        service_exception model_stream bad_response_status_code do_request_failed bad_response upstream_error
        data_loss aborted unknown system_error B0001 C0001
    """,
)
"""What an HTTP status says better: DeepSeek answers 402 with `invalid_request_error`."""

_ZHIPU: Final = _numbers(
    auth="1000 1001 1002 1003 1004 1100 1110 1111 1112 1120 1121 1220 1311",
    quota="1113 1304 1308 1309 1310",
    bad_request="1200 1210 1212 1213 1214 1215 1231",
    not_found="1211 1222",
    incompatible="1221",
    server_error="1230 1234",
    context_overflow="1261",
    content_filter="1300 1301",
    rate_limit="1302 1303 1313",
    overloaded="1305 1312",
)
_BAIDU: Final = _numbers(
    server_error="1 282000 336000",
    overloaded="2 4 336100",
    incompatible="3",
    auth="6 13 14 15 100 110 111 336004",
    quota="17 19",
    rate_limit="18 336501 336502",
    bad_request="336001 336002 336003 336005 336006",
    context_overflow="336007 336103",
)
_WECHAT: Final = _numbers(
    overloaded="-1",
    auth="40001 40013 40014 40125 40164 41001 42001 42007 48001 48004 50001 88",
    rate_limit="45009 45011 90018 90002",
    bad_request="40003 43001 43002 44002 47001",
    not_found="46003 46004",
    content_filter="87014",
)
_MINIMAX: Final = _numbers(
    server_error="1000 1013 1024 1033",
    timeout="1001",
    rate_limit="1002 1039 1041 2045",
    auth="1004 2049",
    quota="1008 1028 1030 2056 2061",
    content_filter="1026 1027",
    bad_request="1042 2013",
)
_SPARK: Final = _numbers(
    bad_request="10003 10004 10005 10163",
    rate_limit="10006 10007 11202 11203",
    overloaded="10008 10110",
    server_error="10009 10010 10011 10012 10222",
    content_filter="10013 10014 10019",
    auth="10015 10016 11200",
    quota="11201",
    context_overflow="10907",
)
_JSONRPC: Final = _numbers(
    bad_request="-32700 -32600 -32602",
    incompatible="-32601",
    server_error="-32603",
    timeout="-32001",
    not_found="-32002",
    connection="-32000",
)
_TOP_LEVEL: Final = _numbers(
    not_found="20012",
    bad_request="20015",
    quota="30001 30011",
    overloaded="50505 50603 50604",
    server_error="50501 50507",
    rate_limit="99991400 230020",
    auth="99991661 99991663 99991664 99991668 99991671 99991672",
)

VENDORS: Final[Mapping[str, Mapping[str, Kind]]] = {
    "error.code": {**_ZHIPU, **_JSONRPC},
    "error_code": _BAIDU,
    "errcode": _WECHAT,
    "base_resp.status_code": _MINIMAX,
    "header.code": _SPARK,
    "code": _TOP_LEVEL,
}
"""Numeric codes mean something only at the place where their vendor puts them."""


def strong(code: str) -> Kind | None:
    """Tell what a code means, whatever the HTTP status says; None where it is not known."""
    kind = _look_up(code, _STRONG) or _by_ending(code)
    if kind or weak(code):  # `InvalidParameter.Timeout` is about a parameter
        return kind
    return _look_up(code.rpartition(".")[2], _STRONG)


def weak(code: str) -> Kind | None:
    """Tell what a general code means, to be believed only where there is no HTTP status."""
    return _look_up(code, _WEAK)


def is_code(text: str) -> bool:
    """Tell an identifier from free text, which never decides anything final (case P02)."""
    return re.fullmatch(_CODE, text) is not None


def _look_up(code: str, table: Mapping[str, Kind]) -> Kind | None:
    key = _folded(code)
    while key:
        for known in (key, key.removesuffix("error"), key.removesuffix("exception")):
            if kind := table.get(known):
                return kind
        key = key.rpartition(".")[0]
    return None


def _by_ending(code: str) -> Kind | None:
    folded = _folded(code).removesuffix("error").removesuffix("exception")
    return next((kind for ending, kind in _ENDINGS if folded.endswith(ending)), None)
