"""Telling an error report that came with a success from an ordinary value (spec F1, F3; cases X02, X10).

A value is an error report when it says so **and carries nothing else**: a job record with an `error` field, an order whose
`status` is `failed` or a coupon with a `code` is what was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from langgraph_degrade.failures import codes, statuses
from langgraph_degrade.failures.shapes import Body, is_array, is_object, words

_ABOUT: Final = words(
    """
    error errors err errorresponse fault code msg message messages errmsg errormsg errormessage errordescription errcode
    errorcode errno subcode submsg success ok status statuscode statusmessage httpstatus requestid traceid trace
    timestamp time ts servertime path method detail details type title instance hint help documentationurl docurl
    jsonrpc version retryafter parameters description reason info infocode param object hostid recommend logid sid
    exception estimatedtime global returncode returnmsg resultcode resultmsg retcode retmsg errcodedes
    """
)
"""Keys that speak about the call, folded like `_folded`."""
_PAYLOAD: Final = words("data result results response content payload body text items headers output usage")
"""Keys that hold what was asked for; empty in an error report."""
_ERROR_KEYS: Final = ("error", "Error", "err", "fault", "error_response")
_MESSAGE_KEYS: Final = words(
    """
    message msg errmsg errMsg err_msg error_msg errorMsg error_message errorMessage Message error_description error
    errors reason return_msg ret_msg result_msg err_code_des
    """
)
_DESCRIPTION_KEYS: Final = _MESSAGE_KEYS | words("detail title info description")
_ERROR_CODE_KEYS: Final = ("errcode", "errCode", "error_code", "errorCode", "err_code", "ErrorCode")
_CODE_KEYS: Final = (
    "code", "Code", "retcode", "ret_code", "result_code", "resultCode", "return_code", "returnCode", "status_code",
)  # fmt: skip
_STATUS_KEYS: Final = ("status_code", "statusCode", "http_status", "httpStatus")
_NESTED_ERROR: Final = ("Response", "ResponseMetadata")
_NOTHING: Final = words("none null nil ok success 0 false 无 -") | {"", "no error", "no errors"}
_FINE: Final = _NOTHING | words("00000 0000 000000 200 201 202 204 20000 true")
_GOOD_NEWS: Final = r"(?i)(?:ok|okay|success(?:ful|fully)?|succeeded|done|.{0,20}成功)[\s!！.。]*"
_CALL_ERROR: Final = words("extensions locations status code title")
_FINDING: Final = words("line column row severity rule file")
_DEEPEST = 6
_BAD_WORDS: Final = words("fail failed failure error")
_HOUSE_CODE: Final = r"[ABC]\d{4}"
"""The codes of Alibaba's Java guidelines, which many Chinese services use."""
_COMPOUND: Final = r"(?i)_|error$|exception$"


def is_error_report(body: Body) -> bool:
    """Tell whether a mapping that came with a success says, and says nothing but, that the call failed."""
    return any(not signs.isdisjoint(body) and rule(body) for signs, rule in _RULES)


def is_null_data(body: Body) -> bool:
    """Tell `data: null` under a success code: the envelope came, what was asked for did not."""
    return "data" in body and body["data"] is None and _is_about_the_call(body)


def is_fine(code: object) -> bool:
    """Tell whether a code is one of the usual names of success; no code at all is no error."""
    return code is None or str(code).strip().casefold() in _FINE


def is_something(value: object, depth: int = 0) -> bool:
    """Tell a filled-in error field from `null`, `""`, `0`, `[]`, `{}`, `false` (case X10)."""
    if isinstance(value, str):
        return value.strip().casefold() not in _NOTHING
    if is_object(value) or is_array(value):
        items = value.values() if is_object(value) else value
        return depth > _DEEPEST or any(is_something(item, depth + 1) for item in items)
    return isinstance(value, int) and not isinstance(value, bool) and value != 0


def _has_error(body: Body) -> bool:
    values = [body[key] for key in _ERROR_KEYS if key in body]
    told = any(is_something(value) for value in values if isinstance(value, str) or is_object(value))
    flagged = any(value is True for value in values) and _has_message(body)
    return (told or flagged) and _is_about_the_call(body)


def _has_errors(body: Body) -> bool:
    """Tell GraphQL's and JSON:API's `errors` from the findings of a checker, which are what was asked for."""
    errors = body.get("errors")
    if not is_something(errors) or not _is_about_the_call(body):
        return False
    rejected = "data" in body or any(is_something(body.get(key)) for key in _MESSAGE_KEYS - {"errors"})
    return rejected or (is_array(errors) and any(map(_is_call_error, errors)))


def _is_call_error(error: object) -> bool:
    return is_object(error) and not _CALL_ERROR.isdisjoint(error) and _FINDING.isdisjoint(error)


def _is_denial(body: Body) -> bool:
    values = [body.get(key) for key in _DENIALS]
    denied = any(value is False or (isinstance(value, str) and value == "false") for value in values)
    told = _has_message(body, _DESCRIPTION_KEYS) or body.get("data", 0) is None
    return denied and told and _is_about_the_call(body, payload=True)


def _is_jsend(body: Body) -> bool:
    status = body["status"]
    if not isinstance(status, str):
        return False
    failed = status.casefold() in {"error", "fail"} or ("_" in status and codes.strong(status) is not None)
    return failed and _has_message(body) and _is_about_the_call(body)


def _has_error_code(body: Body) -> bool:
    coded = any(not is_fine(body[key]) for key in _ERROR_CODE_KEYS if _is_scalar(body.get(key)))
    return coded and _has_message(body, _DESCRIPTION_KEYS) and _is_about_the_call(body)


def _has_code(body: Body) -> bool:
    said = [body[key] for key in _CODE_KEYS if _is_scalar(body.get(key))]
    code = next((code for code in said if not is_fine(code)), None)
    if code is None or not _has_message(body) or not _is_about_the_call(body):
        return False
    return _is_known(code) or (body.get("data", 0) is None and _is_numeric(code) and not _brings_good_news(body))


def _has_status(body: Body) -> bool:
    return any(statuses.is_error(body.get(key)) for key in _STATUS_KEYS) and _is_about_the_call(body, payload=True)


def _is_problem(body: Body) -> bool:
    failed = statuses.is_error(body["status"])
    return failed and _has_message(body, _DESCRIPTION_KEYS) and _is_about_the_call(body)


def _is_nested(body: Body) -> bool:
    base, header = body.get("base_resp"), body.get("header")
    if is_object(base):
        return not is_fine(base.get("status_code"))
    if is_object(header) and body.keys() <= {"header", "payload"}:
        return not is_fine(header.get("code"))
    return any(is_object(outer := body.get(key)) and is_object(outer.get("Error")) for key in _NESTED_ERROR)


def _is_alipays(body: Body) -> bool:
    inner = next((value for key, value in body.items() if str(key).endswith("_response")), None)
    return is_object(inner) and is_something(inner.get("sub_code"))


def _is_flagged(body: Body) -> bool:
    kind = body.get("__type")
    if isinstance(kind, str) and kind.endswith("Exception"):
        return True
    return body.get("isError") is True or body.get("is_error") is True


_DENIALS: Final = words("success Success ok")
_RULES: Final[tuple[tuple[frozenset[str], Callable[[Body], bool]], ...]] = (
    (frozenset(_ERROR_KEYS), _has_error),
    (words("errors"), _has_errors),
    (_DENIALS, _is_denial),
    (frozenset(_ERROR_CODE_KEYS), _has_error_code),
    (frozenset(_CODE_KEYS), _has_code),
    (frozenset(_STATUS_KEYS), _has_status),
    (words("status"), _is_problem),
    (words("status"), _is_jsend),
    (words("base_resp header") | frozenset(_NESTED_ERROR), _is_nested),
    (words("isError is_error __type"), _is_flagged),
    (words("sign"), _is_alipays),
)
"""Each rule with the keys without one of which it can't hold."""
SIGNS: Final = words("data").union(*(signs for signs, _ in _RULES))
"""A mapping with none of these keys is an ordinary value."""


def _is_about_the_call(body: Body, *, payload: bool = False) -> bool:
    """Tell whether nothing here could be what was asked for; `payload` lets filled payload keys pass."""
    for key, value in body.items():
        if key in _ABOUT or (folded := _folded(key)) in _ABOUT or (key == "id" and "jsonrpc" in body):
            continue
        if folded not in _PAYLOAD or not (payload or _is_empty(value)):
            return False
    return True


def _folded(key: object) -> str:
    return str(key).casefold().replace("_", "").replace("-", "")


def _is_empty(value: object) -> bool:
    if is_object(value):
        return all(item is None for item in value.values())
    return value is None or value is False or (isinstance(value, str | list) and not value)


def _has_message(body: Body, keys: frozenset[str] = _MESSAGE_KEYS) -> bool:
    values = [body[key] for key in keys if key in body]
    return any(is_something(value) for value in values if isinstance(value, str) or is_object(value) or is_array(value))


def _brings_good_news(body: Body) -> bool:
    messages = (body.get(key) for key in ("message", "msg", "errmsg"))
    return any(isinstance(message, str) and re.fullmatch(_GOOD_NEWS, message) for message in messages)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_numeric(code: object) -> bool:
    return isinstance(code, int) or (isinstance(code, str) and code.removeprefix("-").isdecimal())


def _is_known(code: object) -> bool:
    text = str(code)
    if _is_numeric(code):
        return statuses.is_error(int(text)) or int(text) < 0 or text in codes.VENDORS["code"]
    if text.casefold() in _BAD_WORDS:
        return True
    general = re.search(_COMPOUND, text) and codes.weak(text)
    return bool(codes.strong(text) or general or re.fullmatch(_HOUSE_CODE, text))
