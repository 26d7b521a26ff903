"""Naming the kind of an exception, however it is wrapped (spec F1, F2).

An exception's own class decides where it says something definite. Where it only says "something went wrong while …"
(`RuntimeError`, `requests.ConnectionError`, `ToolException`), what it was raised from decides.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from types import FrameType, TracebackType
from typing import Final, NamedTuple, cast

from langgraph_degrade.failures import answers, classes, envelopes, strings, texts, wire
from langgraph_degrade.failures.drivers import judge_driver
from langgraph_degrade.failures.failure import ANSWERS, BLAMELESS, Failure, Kind
from langgraph_degrade.failures.shapes import Body, attribute, is_object
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.verdicts import Evidence, failed, judge

_LONGEST_CHAIN = 24
_CONTROL_FLOW: Final = frozenset({"GraphBubbleUp"})
_RETRIES_SPENT: Final = frozenset({"ResponseError"})
_DECODERS: Final = (
    "langchain_core.language_models", "langchain_core.outputs", "langchain_core.output_parsers", "langchain_openai",
    "langchain_anthropic", "langchain_google", "langchain_ollama", "langchain_mistralai", "langchain_groq",
    "langchain_deepseek", "langchain_community.chat_models", "langchain_community.llms", "openai", "anthropic", "groq",
    "mistralai", "cohere", "ollama", "google.genai", "dashscope", "zhipuai",
)  # fmt: skip
"""Modules that turn a vendor's answer into messages …"""
_ENCODERS: Final = frozenset(
    ("_get_request_payload", "_convert_message_to_dict", "_convert_input", "_format_messages", "bind_tools")
)
"""… and the functions in them that prepare the request."""
_REFUSALS: Final[frozenset[Kind]] = ANSWERS | frozenset[Kind](("rate_limit", "auth", "quota", "incompatible"))
_OWN_REFUSALS: Final[frozenset[Kind]] = frozenset({"open", "shed", "budget"})
_RAISE: Final = frozenset((dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]))
_DECODING_ERRORS: Final = (TypeError, LookupError, AttributeError)


class _Verdict(NamedTuple):
    failure: Failure
    general: bool = False
    """What it was raised from knows better."""


def classify_exception(error: BaseException, terms: Terms) -> Failure | None:
    """Name the kind of an exception; None for LangGraph's control flow, which is no failure."""
    if classes.is_a(error, "langchain", _CONTROL_FLOW):
        return None
    failure = _judge_chain(error, terms) or Failure("unknown", reason=type(error).__name__)
    return replace(failure, cause=error)


def _judge_chain(error: BaseException, terms: Terms) -> Failure | None:
    held: Failure | None = None
    for link in islice(_links(error), _LONGEST_CHAIN):
        verdict = _judge_one(link, terms)
        if verdict is None:
            continue
        held = verdict.failure if held is None else _merged(held, verdict.failure)
        if not verdict.general:
            break
    return held


def _links(error: BaseException) -> Iterator[BaseException]:
    """Walk from an exception to what it wraps: causes, then exceptions kept as arguments, then contexts."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        named = (attribute(link, "orig"), attribute(link, "reason"))
        wrapped = (link.__cause__, *named, *link.args, link.__context__)
        waiting[:0] = [one for one in wrapped if isinstance(one, BaseException)]


def _merged(outer: Failure, inner: Failure) -> Failure:
    """Prefer what was wrapped, unless it says less; keep the outer words and what the outer one is sure of."""
    if outer.kind == "unknown":
        return inner
    if inner.kind in {"unknown", "business", "cancelled"} or (inner.kind in ANSWERS and outer.kind not in ANSWERS):
        return replace(outer, vague=outer.vague or _is_open(inner))
    message = (outer.message or inner.message) if inner.kind in ANSWERS else ""
    return replace(inner, message=message, unsent=inner.unsent or outer.unsent)


def _judge_one(error: BaseException, terms: Terms) -> _Verdict | None:
    if isinstance(error, BaseExceptionGroup):
        return _judge_group(cast("BaseExceptionGroup[BaseException]", error), terms)
    fault = classes.fault_of(error)
    if failure := _answered(error, fault, terms) or judge_driver(error):
        return _Verdict(failure)
    if type(error) is ValueError and is_object(error.args[0] if error.args else None):
        return _Verdict(envelopes.reported({"error": error.args[0]}, terms))  # `ChatOpenAI` raises it so (case S01)
    if _is_decoding_error(error):  # also of a model asked within a tool
        return _Verdict(failed("schema", "unusable answer"))
    return _by_words(error, fault, terms) or (None if fault is None else _by_class(error, fault))


def _judge_group(group: BaseExceptionGroup[BaseException], terms: Terms) -> _Verdict:
    """Take the first member that leaves most open; only what holds for every member is certain of the whole."""
    unnamed = Failure("unknown", vague=True)
    found = [_judge_chain(one, terms) or replace(unnamed, reason=type(one).__name__) for one in group.exceptions]
    failure = min(found, key=_closedness)
    return _Verdict(replace(failure, unsent=all(one.unsent for one in found), vague=any(map(_is_open, found))))


def _closedness(failure: Failure) -> int:
    """Rank the members of a group: faults, what nobody can name, refusals, what they were cancelled with."""
    if failure.kind in BLAMELESS:
        return 3
    if failure.unsent or failure.kind in _REFUSALS:
        return 2
    return 1 if failure.kind == "unknown" else 0


def _is_open(failure: Failure) -> bool:
    """Tell whether something may have been done before it failed so."""
    return failure.vague or not (failure.unsent or failure.kind in _REFUSALS | _OWN_REFUSALS)


def _answered(error: BaseException, fault: classes.Fault | None, terms: Terms) -> Failure | None:
    """Judge by the HTTP answer, JSON-RPC error or error body the exception carries."""
    answer = answers.carried_by(error)
    if answer is not None:
        failure = answers.judge_answer(answer, terms)
        certain = fault is not None and fault.kind == "context_overflow" != failure.kind
        return replace(failure, kind="context_overflow", transient=False) if certain else failure
    if classes.is_a(error, "urllib3", _RETRIES_SPENT):  # `too many 503 error responses`: its own retries are spent
        return judge(Evidence(status=texts.status_in(str(error))), terms)
    body = _error_body(error)
    return envelopes.reported(body, terms) if body else None


def _error_body(error: BaseException) -> Body | None:
    """Find the body of an error that came inside an open stream, or over JSON-RPC (MCP)."""
    body = attribute(error, "body")
    if is_object(body):
        return {"error": body}
    rpc = attribute(error, "error")
    if isinstance(code := getattr(rpc, "code", None), int):
        return {"error": {"code": code, "message": getattr(rpc, "message", "")}}
    return None


def _by_words(error: BaseException, fault: classes.Fault | None, terms: Terms) -> _Verdict | None:
    """A plain `ValueError` is a tool's way to say no, and a model client's way to say "what is this?"."""
    if fault is classes.TOOLS_OWN_WORDS:
        return _Verdict(strings.said(str(error), terms), general=True)
    if type(error) is not ValueError:
        return None
    if terms.source == "tool" and _is_said(error):
        return _Verdict(failed("business", "said by the tool", message=str(error)), general=True)
    return _Verdict(failed("schema", "unusable answer"), general=True)


def _is_said(error: BaseException) -> bool:
    """Tell a `raise ValueError(...)` of somebody's own from one that a conversion (`int("12.50")`) or the standard
    library ended in: that is a bug, or bad data, and no decision.
    """
    traceback = error.__traceback__
    if traceback is None:
        return True
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code, module = traceback.tb_frame.f_code.co_code, str(traceback.tb_frame.f_globals.get("__name__", ""))
    is_raised = code[traceback.tb_lasti] in _RAISE
    return is_raised and module.partition(".")[0] not in sys.stdlib_module_names


def _is_decoding_error(error: BaseException) -> bool:
    """Tell a model client that tripped over an answer from a programming error elsewhere (cases S01, F13)."""
    if type(error) is not ValueError and not isinstance(error, _DECODING_ERRORS):
        return False
    module, functions = "", set[str]()
    for frame in _frames(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        functions.add(frame.f_code.co_name)
    return module.startswith(_DECODERS) and functions.isdisjoint(_ENCODERS)


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _by_class(error: BaseException, fault: classes.Fault) -> _Verdict:
    path = getattr(error, "path", None) if "langgraph_degrade" in classes.roots(error) else None
    reason = f"{fault.reason} at {path[:80]}" if isinstance(path, str) else fault.reason
    message = str(error) if fault.kind == "business" else ""
    vague = not fault.unsent and fault.kind not in BLAMELESS
    failure = failed(fault.kind, reason, message=message, unsent=fault.unsent, vague=vague)
    wait = wire.seconds(getattr(error, "retry_after", None), lambda: 0.0)
    return _Verdict(replace(failure, retry_after=wait), fault.general)
