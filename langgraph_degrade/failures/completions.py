"""Model answers in the vendors' own JSON: chat completions, Responses, Anthropic, Gemini, Bedrock, DashScope, Ollama.

A mapping from a model may also be its structured output, where `choices` are those of a quiz and `error` is a word the
schema asked for. So a shape counts only with the marks that its vendor puts on it.
"""

from __future__ import annotations

from typing import Any, Final, TypeGuard

from langgraph_degrade.failures import envelopes, reports, signs
from langgraph_degrade.failures.contents import message_turn, responses_turn
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.shapes import Body, is_array, is_object, words
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.turns import Turn, judge_turn
from langgraph_degrade.failures.verdicts import Evidence, failed, judge

_KEYS: Final = words(
    """
    id object created model provider choices usage system_fingerprint service_tier prompt_filter_results error code
    msg message status data request_id base_resp error_code error_msg type
    candidates promptFeedback usageMetadata modelVersion responseId createTime
    """
)
"""What stands at the top of a completion."""
_CHOICE_MARKS: Final = words("message delta finish_reason finishReason content error")


def classify_completion(body: Body, terms: Terms) -> Failure | None:
    """Tell whether a model's JSON answer is a success; None also for a shape nobody knows."""
    if failure := _reported(body, terms):
        return failure
    if blocked := _blocked(body):
        return failed("content_filter", f"prompt blocked: {blocked}")
    if inner := _unwrapped(body):
        return classify_completion(inner, terms)
    for key in ("choices", "candidates"):
        if key in body:
            return _classify_choices(body, body[key], terms)
    turn = _whole_turn(body)
    return judge_turn(turn, terms) if turn else None


def is_error(value: object) -> TypeGuard[Body | str]:
    """Tell a filled-in `error` field."""
    return (isinstance(value, str) or is_object(value)) and signs.is_something(value)


def judge_error(error: Body | str, terms: Terms) -> Failure:
    """Judge the `error` of a model's answer; without a code it is a bad answer."""
    return judge(Evidence(reports.read({"error": error}), default="schema"), terms)


def _reported(body: Body, terms: Terms) -> Failure | None:
    """Find an error, also beside the other keys of a completion."""
    if body.keys() <= _KEYS:
        if is_error(error := body.get("error")):
            return judge_error(error, terms)
        if not signs.is_fine(body.get("error_code")):
            return envelopes.reported(body, terms)
    return envelopes.recognised(body, terms)


def _blocked(body: Body) -> str:
    feedback = body.get("promptFeedback")
    reason = feedback.get("blockReason") if is_object(feedback) else None
    return reason if isinstance(reason, str) and reason.isidentifier() else ""


def _unwrapped(body: Body) -> Body | None:
    """Open DashScope's and Bedrock's `output`."""
    output = body.get("output")
    if not is_object(output):
        return None
    inner: dict[str, Any] = dict(output)
    if "stopReason" in body:
        return {**inner, "stop_reason": body["stopReason"]}
    return inner if inner.keys() & {"choices", "finish_reason"} else None


def _classify_choices(body: Body, choices: object, terms: Terms) -> Failure | None:
    if not choices:
        return failed("schema", "choices: empty") if body.keys() <= _KEYS else None
    choice = choices[0] if is_array(choices) else None
    if not is_object(choice) or _CHOICE_MARKS.isdisjoint(choice):
        return None
    if is_error(error := choice.get("error")):
        return judge_error(error, terms)
    reason = choice.get("finish_reason", choice.get("finishReason"))
    message = choice.get("message", choice.get("content", choice.get("delta", choice)))
    if is_object(message):
        return judge_turn(message_turn(message, reason), terms)
    return failed("schema", "choices: no message") if message is None else None


def _whole_turn(body: Body) -> Turn | None:
    """Read the shapes in which the body is the message."""
    if body.get("object") == "response":
        return responses_turn(body)
    message = body.get("message")
    if is_object(message) and body.keys() & {"done", "stop_reason"}:
        return message_turn(message, body.get("done_reason", body.get("stop_reason")))
    for reason, content in (("stop_reason", "content"), ("finish_reason", "text")):
        if reason in body and content in body:
            return message_turn(body, body[reason])
    return None
