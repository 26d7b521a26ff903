"""From what a tool returned to what it means: decoded, cleaned, judged, out of its envelope, validated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages.tool import ToolMessage, ToolOutputMixin

from langgraph_degrade.errors import ToolSchemaError
from langgraph_degrade.failures.failure import ANSWERS, Failure, Kind
from langgraph_degrade.stages.tools.cleaning import clean
from langgraph_degrade.stages.tools.decoding import NOT_JSON, decode, parse
from langgraph_degrade.stages.tools.locating import json_path, schema_error, schema_failure
from langgraph_degrade.stages.tools.shapes import is_array, is_bytes, is_object
from langgraph_degrade.texts import one_line

if TYPE_CHECKING:
    from langgraph_degrade.policy import EnvelopePolicy
    from langgraph_degrade.stages.tools.validation import Validator

_TEXT_LOOKED_AT = 4096  # ○ characters: an error says so at its beginning
_PLAIN = frozenset({dict, str, int, float, bool, type(None)})  # none of what is asked for one by one
_TRANSIENT: frozenset[Kind] = frozenset({"timeout", "connection"})  # spec T1


@dataclass(slots=True)  # not frozen: that costs more than everything else about making one
class Reading:
    """What a tool's return value turned out to be."""

    value: object
    """The tool's own value: the same object, or a repaired copy (JSON text stays JSON text) where `repairs` says so."""
    data: object = None
    """The same as plain JSON, out of its envelope: for `ToolResult.data` and caches. None where it failed."""
    failure: Failure | None = None
    """Why it only looked like success; None where it is one."""
    repairs: tuple[str, ...] = ()
    """What was repaired, for events: `non-finite number at $.amount`."""

    @property
    def shown(self) -> object:
        """What a model may be shown: `value`, but bytes as the text they stand for."""
        return self.data if is_bytes(self.value) else self.value


@dataclass(slots=True)
class _Expected:
    """What is declared about a tool's answers."""

    classify: Callable[..., Failure | None]
    envelope: EnvelopePolicy | None
    validator: Validator | None
    text_errors: Mapping[str, Kind]

    @property
    def structured(self) -> bool:
        return self.envelope is not None or self.validator is not None

    def admits_text(self) -> bool:
        return self.envelope is None and (self.validator is None or self.validator.admits_text)

    def accepts(self, value: object) -> bool:
        try:
            data = self.unwrapped(clean(value)[0])
        except ToolSchemaError:
            return False
        return self.validator is None or self.validator.check(data) is None

    def unwrapped(self, whole: object) -> object:
        """Return what the envelope holds; the outer fields are looked at first (spec E2)."""
        envelope = self.envelope
        if envelope is None:
            return whole
        if not is_object(whole):
            raise schema_error("an object expected")
        # Without a schema nothing has to be inside: a write may be acknowledged by its code alone.
        required = [envelope.code] if envelope.nullable or self.validator is None else [envelope.code, envelope.data]
        missing = next((name for name in required if name not in whole), None)
        if missing:
            raise schema_error(f"required {missing!r} missing")
        return whole.get(envelope.data)

    @property
    def root(self) -> str:
        return "$" if self.envelope is None else json_path([self.envelope.data], frozenset({self.envelope.data}))


def read(
    raw: object,
    *,
    classify: Callable[..., Failure | None],
    envelope: EnvelopePolicy | None = None,
    schema_validator: Validator | None = None,
    text_errors: Mapping[str, Kind] | None = None,
) -> Reading:
    """Make `raw` safe and tell what it means; whatever is in it, nothing is raised on its account.

    The order: bytes are decoded and JSON texts parsed (where a schema or an envelope is declared), cleaned, held
    against `text_errors` (regular expression → kind), given to `classify(value, envelope=envelope)` for successes that
    are none, taken out of the envelope, validated. A `ToolMessage` or `Command` is its author's own: it passes, but
    for a message that says of itself that it is an error.
    """
    expected = _Expected(classify, envelope, schema_validator, text_errors or {})
    try:
        if type(raw) in _PLAIN:
            return _read_value(raw, expected)
        if isinstance(raw, BaseException):
            return _read_error(raw, expected)
        if isinstance(raw, ToolMessage):
            return _read_message(raw, expected)
        return Reading(raw) if _is_control(raw) else _read_value(raw, expected)
    except ToolSchemaError as error:
        return Reading(raw, failure=schema_failure(error))
    except RecursionError:  # the caller stands so deep already that a hundred levels more are too many
        return Reading(raw, failure=schema_failure(schema_error("nested too deeply to be read")))


def _is_control(raw: object) -> bool:
    if is_array(raw):
        return bool(raw) and all(isinstance(item, ToolOutputMixin) for item in raw)
    return isinstance(raw, ToolOutputMixin)


def _read_error(error: BaseException, expected: _Expected) -> Reading:
    """An error that was returned is one that was raised; nobody gets to see it as a value."""
    failure = expected.classify(error, envelope=None)
    return Reading(None, failure=failure or Failure("unknown", reason=type(error).__name__, vague=True))


def _read_message(message: ToolMessage, expected: _Expected) -> Reading:
    content, repairs = clean(message.content)
    value = message.model_copy(update={"content": content}) if repairs else message
    if message.status != "error":
        return Reading(value, content, repairs=tuple(repairs))
    failure = _text_failure(value.text, expected.text_errors) or expected.classify(value, envelope=None)
    return Reading(value, failure=failure, repairs=tuple(repairs))


def _read_value(raw: object, expected: _Expected) -> Reading:
    body = _body(raw, expected)
    whole, repairs = clean(body)
    failure = _verdict(raw, whole, expected)
    if failure:
        return Reading(raw, failure=failure, repairs=tuple(repairs))
    fault: Failure | None = None
    if expected.validator:
        inside = expected.envelope.data if expected.envelope else None
        moments = expected.validator.timestamps.settle(whole, inside)
        whole, repairs = moments.value, [*repairs, *moments.repairs]
        fault = _fault(raw, body, whole, expected)
        if fault is None and moments.error:
            fault = schema_failure(moments.error)
    value = _in_own_shape(raw, body, whole) if repairs else raw
    return Reading(value, None if fault else expected.unwrapped(whole), fault, tuple(repairs))


def _verdict(raw: object, whole: object, expected: _Expected) -> Failure | None:
    """Tell whether it only looks like success."""
    text = _text(whole)
    failure = _text_failure(text, expected.text_errors) if text else None
    told = whole if text is None else text
    return failure or expected.classify(raw if _is_response(raw) else told, envelope=expected.envelope)


def _text_failure(text: str, text_errors: Mapping[str, Kind]) -> Failure | None:
    for pattern, kind in text_errors.items():
        if re.search(pattern, text[:_TEXT_LOOKED_AT]):
            message = one_line(text) if kind in ANSWERS else ""
            return Failure(kind, transient=kind in _TRANSIENT, reason="text error", message=message)
    return None


def _fault(raw: object, body: object, whole: object, expected: _Expected) -> Failure | None:
    validator = expected.validator
    data = expected.unwrapped(whole)
    if validator is None or (validator.model and isinstance(raw, validator.model)):
        return None
    if isinstance(whole, str) and not validator.admits_text:
        return schema_failure(schema_error("text that is not JSON"))
    if data is None and expected.envelope and expected.envelope.nullable:
        return None
    failure = validator.check(data, expected.root)
    # A large integer is text for everybody further on, yet `integer` is what a schema says about it.
    exact = expected.unwrapped(clean(body, keep_integers=True)[0]) if failure and whole is not body else data
    return failure if exact is data or validator.check(exact, expected.root) else None


def _body(raw: Any, expected: _Expected) -> object:
    """Return the value to look at: bytes decoded always, texts parsed where structure is expected."""
    if is_bytes(raw):
        return _decoded(bytes(raw), None, expected)
    if not expected.structured:
        return raw
    if isinstance(raw, str):
        return _parsed(raw, expected)
    if _is_response(raw):
        return _decoded(raw.content, raw.headers.get("content-type"), expected)
    text = _text(raw)
    return raw if text is None or expected.accepts(raw) else _parsed(text, expected)


def _decoded(data: bytes, content_type: str | None, expected: _Expected) -> object:
    try:
        return decode(data, content_type, judge=expected.accepts)
    except ToolSchemaError:
        if expected.structured:
            raise
        return f"<{len(data)} bytes>"  # an image is no failure where nobody said what to expect


def _parsed(text: str, expected: _Expected) -> object:
    if expected.admits_text() and expected.accepts(text):
        return text
    value = parse(text)
    return text if value is NOT_JSON else value


def _text(value: object) -> str | None:
    """Return a text, or the text of a list of content blocks that holds nothing else."""
    if isinstance(value, str):
        return value
    block = value[0] if is_array(value) and len(value) == 1 else None
    text = block.get("text") if is_object(block) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _is_response(raw: object) -> bool:
    kind = type(raw)  # asked of the type: an instance may be a proxy that answers to every name
    return hasattr(kind, "raise_for_status") and hasattr(kind, "content") and isinstance(_content(raw), bytes)


def _content(response: Any) -> object:
    try:
        return response.content
    except Exception:  # a stream that nobody has read
        return None


def _in_own_shape(raw: Any, body: object, whole: object) -> object:
    """Return the repaired `whole` in the form the tool gave it: JSON text stays JSON text."""
    if is_bytes(raw) or _is_response(raw):
        return raw
    if body is raw:
        return whole
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False)
    return text if isinstance(raw, str) else [{**raw[0], "text": text}]
