"""Text results: when a tool's text is an error, and when it only talks about one (spec F3, case X04).

Only clear cases count: `Error: …`, a JSON error report, cut JSON, the `repr` of an exception, an
error page. A text is data otherwise, whatever words it holds.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Final

from langgraph_degrade.failures import completions, contents, envelopes, reports, streams, texts
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.reprs import classify_repr
from langgraph_degrade.failures.shapes import is_object
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.verdicts import Evidence, failed, judge

_LONGEST_ERROR = 2000
"""Characters; a longer text that starts with `Error:` is a log or a page about errors ○."""
_ERROR: Final = (
    r"(?i)\s*(?:an )?(?:error|错误|出错了?|调用失败|请求失败|查询失败|执行失败)(?: occurred)?"
    r"(?: (?:executing|invoking|calling|running|in|from|while|during) [^:：\n]{1,200})?\s*[:：]\s*(?=\S)"
)
_FIRST_WORDS: Final = ("error", "an error", "错误", "出错", "调用失败", "请求失败", "查询失败", "执行失败")
_NO_SUCH_TOOL: Final = r"\S{1,100} is not a valid tool, try one of \["
_BAD_ARGUMENTS: Final = r"Error invoking tool '"
_ERROR_PAGE: Final = (
    r"(?i)log ?in|sign ?in|登录|登陆|(?:^|>)\s*(?:\w{1,20} )?(?:error\s*(?:$|[-:|!<\d])|[45]\d\d\b)|出错|denied|forbidden|拒绝访问|maintenance"
    r"|维护|unavailable|bad gateway|time-?out|not found|captcha|验证码|just a moment|too many requests"
)
_TITLE: Final = r"(?is)<(?:title|h1)[^>]{0,80}>(.{0,200}?)</"
_HTML: Final = ("<!doctype html", "<html")
_SMALL_PAGE = 2000
_XML_ERROR: Final = r"(?i)\s*(?:<\?xml[^>]{0,100}\?>\s*)?<(?:\w{1,20}:)?(?:Error|ErrorResponse|Fault|Envelope)\b"
_TELLTALES: Final = (
    '"err', '"Err', '"code"', '"Code"', '"success"', '"Success"', '"ok"', '"status', '"data"', '"base_resp"', '"is',
    '"choices"', '"candidates"', '"Response', '"__type"', '"fault"', '"header"', '"ret', '"result',
)  # fmt: skip
"""A JSON text with none of these is not worth parsing."""


def classify_text(text: str, terms: Terms) -> Failure | None:
    """Tell whether a text result is a failure."""
    start = text[:64].lstrip("\ufeff \t\r\n")
    if start.startswith(("{", "[")):
        return _classify_json_text(text, terms)
    if start.startswith("<"):
        return classify_markup(text, terms)
    if terms.source == "model":
        return _classify_model_text(text, terms)
    return _classify_error_text(text, start.casefold(), terms)


def said(text: str, terms: Terms) -> Failure:
    """Judge a text that is known to be an error: by what is set in it, else the target said no.

    The one rule for `Error: …`, a `ToolException` and a `ToolMessage` with the status error. Words never prove that
    nothing was done: the failure is `vague`.
    """
    return replace(_said(text, terms), vague=True, unsent=False)


def _said(text: str, terms: Terms) -> Failure:
    if re.match(_BAD_ARGUMENTS, text) or re.search(_NO_SUCH_TOOL, text[:200]):
        return failed("malformed_call", "invalid arguments")
    inner = texts.without_prefix(text)
    rest = (re.sub(_ERROR, "", text, count=1) if inner is None else inner).removesuffix("\n Please fix your mistakes.")
    if failure := classify_repr(rest, terms) or _structured(rest, terms):
        return failure
    status = texts.status_in(rest)
    # No status is believed in free text that would mean "no money": that is final (case P02).
    report = reports.Report(message=rest, status=None if status == 402 else status)
    return judge(Evidence(report, default=texts.kind_told(text), label="error text"), terms)


def _structured(text: str, terms: Terms) -> Failure | None:
    start = text[:64].lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return _classify_json_text(text, terms)
    return classify_markup(text, terms) if start.startswith("<") else None


def classify_markup(text: str, terms: Terms) -> Failure | None:
    """Judge HTML and XML: to a model client any page is no answer; to a tool, error and log-in pages aren't."""
    if re.match(_XML_ERROR, text):
        report = reports.read(text)
        if report.codes or report.message:
            return judge(Evidence(report, default="business", label="error in xml"), terms)
    if not text[:200].lstrip("\ufeff \t\r\n").lower().startswith(_HTML):
        return None
    if terms.source == "tool" and terms.envelope is None and not _is_error_page(text):
        return None
    return judge(
        Evidence(reports.Report(status=reports.read(text).status), default="schema", label="html, not data"), terms
    )


def _is_error_page(text: str) -> bool:
    title = re.search(_TITLE, text[:4000])
    shown = title[1] if title else text[:_SMALL_PAGE] if len(text) <= _SMALL_PAGE else ""
    return re.search(_ERROR_PAGE, shown) is not None


def _classify_model_text(text: str, terms: Terms) -> Failure | None:
    if streams.is_stream(text):
        return streams.classify_stream(text, terms)
    blank = not contents.is_visible(text) and not terms.allow_empty
    return failed("empty", "no text and no tool call") if blank else None


def _classify_error_text(text: str, start: str, terms: Terms) -> Failure | None:
    may_be = len(text) <= _LONGEST_ERROR and start.startswith(_FIRST_WORDS)
    if may_be and (re.match(_ERROR, text) or re.match(_BAD_ARGUMENTS, text)):
        return said(text, terms)
    return classify_repr(text, terms)


def _classify_json_text(text: str, terms: Terms) -> Failure | None:
    if not _may_be_an_error(text, terms):
        return None
    try:
        value = json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        return failed("schema", "not json") if _ends_too_soon(error) else None
    except (ValueError, RecursionError):
        return None
    return _classify_parsed(value, terms)


def _may_be_an_error(text: str, terms: Terms) -> bool:
    """Tell whether a JSON text is worth parsing: it costs, and nearly every text is fine."""
    if terms.envelope is not None or text.count("{") != text.count("}") or text.count("[") != text.count("]"):
        return True
    return len(text) <= _LONGEST_ERROR and any(telltale in text for telltale in _TELLTALES)


def _classify_parsed(value: object, terms: Terms) -> Failure | None:
    if not is_object(value):
        return None
    # A model may well write JSON of its own: only whole answers in a vendor's shape count.
    if terms.source == "model":
        return completions.classify_completion(value, terms)
    return envelopes.classify_mapping(value, terms)


def _ends_too_soon(error: json.JSONDecodeError) -> bool:
    """Tell cut JSON from text that only begins like JSON."""
    rest = error.doc[error.pos :]
    return not rest.strip() or error.msg.startswith("Unterminated string")
