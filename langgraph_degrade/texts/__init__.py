"""Every sentence the library itself shows a model or a user, in Chinese and English.

Sentences to a model are short, say what is known and what is not, and never invite a second try where the first may
have happened. A template knows two things: `{field}`, and `[...]`, a part that falls away when a field in it is
missing. Nothing else is looked up in a field, and what a field says stands on one line, without control characters
and without closing quotes: a tool's answer cannot pass for a sentence of ours.

A policy overrides any of them: `texts: {en: {tool.unavailable: "{name} is down."}}`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal, cast

from langgraph_degrade.texts.choosing import CHOOSING
from langgraph_degrade.texts.conversation import CONVERSATION

Language = Literal["zh", "en"]
Overrides = Mapping[Any, Mapping[str, str]]
"""`Policy.texts`: language → key → template. (`Any`, because a `Mapping` is invariant in its keys.)"""

FIELD_LIMIT = 500
"""○ Characters one field may take."""

TEXTS: Mapping[str, Mapping[Language, str]] = {
    # --- to the model, in place of a tool's result (a stale or partial value follows on the next line) ---
    "tool.stale": {
        "en": "Data from {age} ago; the live query failed. It may be out of date: say so, and how old it is.",
        "zh": "以下是 {age}前的数据，实时查询失败，可能已过时。回答时必须说明这一点和数据的时间。",
    },
    "tool.partial": {
        "en": "Only part of the result could be fetched. Use what is here, say what is missing, do not fill it in.",
        "zh": "只取到部分结果。只使用已有内容，说明缺了什么，不要自行补全。",
    },
    "tool.unavailable": {
        "en": "Not available at the moment; there is no result. Do not guess a value: tell the user that it "
        "could not be checked.[ Offer this instead: {alternative}]",
        "zh": "目前不可用，没有结果。不要猜测任何数值，请如实告诉用户暂时查不到。[可以向用户提供：{alternative}]",
    },
    "tool.skipped": {
        "en": "Left out: not available at the moment, and the answer can do without it. Say that this part is "
        "missing; do not guess it.",
        "zh": "已跳过：目前不可用，而回答的核心内容不依赖它。请说明缺少这一部分，不要猜测。",
    },
    "tool.rejected": {
        "en": "The answer is no[: “{message}”]. This is a decision, not an outage. Tell the user the reason, or "
        "correct what it objects to; the same request again gets the same answer.",
        "zh": "得到的是否定答复[：「{message}」]。这是业务答复，不是故障。请告诉用户原因，或改正它指出的问题；"
        "原样重发只会得到同样的答复。",
    },
    "tool.malformed": {
        "en": "Not called, the arguments are wrong[ ({reason})]. Correct them from what the user said, and ask "
        "the user for what is missing. Do not invent values.",
        "zh": "没有执行，参数有误[（{reason}）]。请根据用户说过的内容改正，缺少的向用户询问，不要编造。",
    },
    "tool.unknown_write": {
        "en": "Nobody knows whether this took effect: it was sent, and no usable reply came back. Do not say "
        "it is done, do not say it failed, do not submit it again. Tell the user that the outcome is not confirmed yet."
        "[ Offer this: {alternative}]",
        "zh": "请求已发出，但没有得到可用的答复，是否生效目前无人知道。不要说已完成，也不要说已失败，不要再次提交；"
        "请如实告诉用户结果尚未确认。[可以向用户提供：{alternative}]",
    },
    "tool.already_unknown": {
        "en": "Not sent again: the same request was already submitted, and nobody knows whether it took effect. "
        "Do not say it is done, do not say it failed, do not submit it once more.",
        "zh": "没有再次发送：同样的请求已经提交过，是否生效尚不清楚。不要说已完成，也不要说已失败，不要再次提交。",
    },
    "tool.not_done": {
        "en": "Not carried out; nothing was changed. Tell the user so plainly, and do not claim it was done."
        "[ Offer this instead: {alternative}]",
        "zh": "没有执行，没有任何改动。请明确告诉用户，不要说已经办好。[可以向用户提供：{alternative}]",
    },
    "tool.verified_done": {
        "en": "Done: the reply was lost, but a check afterwards found it carried out. Do not submit it again.",
        "zh": "已经完成：当时没有收到答复，事后核查确认已生效。不要再次提交。",
    },
    "tool.handoff": {
        "en": "Cannot be done automatically now, and there is no result. Tell the user "
        "so; do not claim a result.[ Offer this: {alternative}]",
        "zh": "目前无法自动完成，没有结果。请如实告诉用户，不要说已有结果。[可以向用户提供：{alternative}]",
    },
    # --- to the model, in place of a result that never came ---
    "repaired.failed": {
        "en": "No result: the call failed and no answer is on record. Whether it took effect is not known. Do not "
        "guess a result, and do not say it was done.",
        "zh": "没有结果：调用失败，没有留下答复，是否生效不清楚。不要猜测结果，也不要说已完成。",
    },
    "repaired.done": {
        "en": "Done, but what it answered is not available here. Do not submit it again, and do not guess the answer.",
        "zh": "已经完成，但这里看不到它返回的内容。不要再次提交，也不要猜测返回内容。",
    },
    "repaired.not_run": {
        "en": "No result is on record for this call; it may or may not have run. Do not guess a result, do not say "
        "it was done or that it failed, and do not repeat a change before it is checked.",
        "zh": "这次调用没有留下结果，可能已执行，也可能没有执行。不要猜测结果，不要说已完成或已失败；"
        "涉及改动的操作在核实之前不要重复提交。",
    },
    # --- to the user, in place of an answer ---
    "answer.crash": {
        "en": "Sorry, something on our side broke before I could finish."
        " You can ask me for the missing part again, or ask for a human colleague.",
        "zh": "抱歉，我们这边出了故障，没能处理完。您可以就缺少的部分再问我一次，或要求转人工。",
    },
    "answer.timeout": {
        "en": "I had to stop here, because this took too long. "
        "You can ask me for the missing part alone, or ask for a human colleague.",
        "zh": "处理时间过长，我只能先停在这里。您可以单独再问缺少的部分，或要求转人工。",
    },
    "answer.recursion": {
        "en": "I stopped, because further steps were getting me no further."
        " Please put the question in smaller parts, or ask for a human colleague.",
        "zh": "我反复尝试后没有新的进展，因此停了下来。请把问题拆成几个小问题再问，或要求转人工。",
    },
    "answer.user_timeout": {
        "en": "Sorry to have kept you waiting: no answer came in time."
        " You can come back to this here later, or ask for a human colleague.",
        "zh": "抱歉让您久等：没能在时限内得到结果。您可以稍后在这里继续，或要求转人工。",
    },
    "answer.stale": {
        "en": "from {age} ago, may be out of date",
        "zh": "{age}前的数据，可能已过时",
    },
    "answer.by_keywords": {
        "en": "This is what I could look up by the words of your question alone; if a part is missing, please ask for it "
        "again, or ask for a human colleague.",
        "zh": "以上仅根据您问题中的关键词查到。如有遗漏，请就那一部分再问一次，或要求转人工。",
    },
    "answer.not_found_out": {
        "zh": "「{what}」暂时查不到。",
        "en": "Not available at the moment: “{what}”.",
    },
    "answer.unfinished_queued": {
        "en": "Not done yet[: “{what}”]. It is queued and we will finish it; you need not submit it again.",
        "zh": "[「{what}」]尚未完成，已进入处理队列，我们会继续办理，您无需重复提交。",
    },
    "answer.unfinished_resubmit": {
        "en": "Not done[: “{what}”]. Nothing will happen by itself; please submit it again.",
        "zh": "[「{what}」]没有完成，也不会自动继续，请您重新提交。",
    },
    "answer.unfinished_unknown": {
        "en": "Not confirmed[: “{what}”]. It may or may not have gone through; please do not submit it again before that "
        "is checked. A human colleague can look it up.",
        "zh": "[「{what}」]是否成功尚未确认。在核实之前请不要重复提交；您可以要求人工查询。",
    },
    **CHOOSING,
    **CONVERSATION,
}

KEYS: frozenset[str] = frozenset(TEXTS)
"""The names of the sentences, for checking a policy's overrides."""

_FIELD = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*\{\w+\}[^\[\]]*)\]")
_QUOTES = str.maketrans({"“": "'", "”": "'", "「": "'", "」": "'"})
CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Chinese characters, for the inside of a regular expression's brackets."""
_CJK = re.compile(f"[{CHINESE}]")
_WORD = re.compile(rf"[^\W\d_{CHINESE}]+")
_CHINESE_FROM = 0.3


def text(key: str, lang: Language, overrides: Overrides | None = None, **fields: object) -> str:
    """Return one sentence with its fields filled in; a field nobody gave is left out.

    `age` is seconds and told in words; a list is told as one.

    Raises:
        KeyError: no such sentence.

    Example:
        >>> text("tool.stale", "en", age=42)
        'Data from 42 s ago; the live query failed. It may be out of date: say so, and how old it is.'
    """
    said = {name: _said(name, value, lang) for name, value in fields.items()}
    template = _template(key, lang, overrides)
    template = _OPTIONAL.sub(lambda part: part[1] if all(map(said.get, _FIELD.findall(part[1]))) else "", template)
    return _FIELD.sub(lambda field: said.get(field[1], ""), template)


def verbatim(key: str, lang: Language, overrides: Overrides | None = None, **fields: str) -> str:
    """Return one sentence around fields that stay as they are, lines, length and all: what a model is given to read.

    Nothing in it is optional; whoever gives a field has made it harmless.

    Raises:
        KeyError: no such sentence.
    """
    return _FIELD.sub(lambda field: fields.get(field[1], ""), _template(key, lang, overrides))


def _template(key: str, lang: Language, overrides: Overrides | None) -> str:
    template = TEXTS[key][lang]
    return overrides.get(lang, {}).get(key, template) if overrides else template


def unknown_fields(key: str, template: str) -> set[str]:
    """Return the fields of an override that its sentence is never given; for checking a policy.

    Raises:
        KeyError: no such sentence.
    """
    known = {field for builtin in TEXTS[key].values() for field in _FIELD.findall(builtin)}
    return set(_FIELD.findall(template)) - known


def age_in_words(seconds: float, lang: Language) -> str:
    """Return `42 s`, `3 min`, `2 h`, rounded up: nothing is told to be fresher than it is."""
    seconds = max(0.0, seconds)
    units = (
        ("s", "秒", 1, 120),
        ("min", "分钟", 60, 7200),
        ("h", "小时", 3600, 172_800),
        ("d", "天", 86_400, math.inf),
    )
    english, chinese, size, _ = next(unit for unit in units if seconds <= unit[3])
    return f"{math.ceil(seconds / size)} {chinese if lang == 'zh' else english}"


def one_line(value: object, limit: int = FIELD_LIMIT) -> str:
    """Return untrusted `value` as harmless text: one line, no control or invisible characters, at most `limit` long.

    Only text and numbers are told; of anything else only its type, never its `repr`.
    """
    told = str(value) if isinstance(value, str | int | float) else f"<{type(value).__name__}>"
    words = " ".join(told[: 4 * limit].split())
    seen = "".join(char for char in words if unicodedata.category(char)[0] != "C")
    return seen if len(seen) <= limit else f"{seen[: limit - 1]}…"


def detect(text: str) -> Language:
    """Tell the language to answer in from what the user wrote.

    A Chinese character counts as much as a word in Latin letters, and three in ten suffice: questions in Chinese are
    full of product names, questions in English seldom hold a Chinese word.

    Example:
        >>> detect("iPhone 15 Pro Max 有货吗？")
        'zh'
    """
    chinese = len(_CJK.findall(text))
    return "zh" if chinese and chinese >= _CHINESE_FROM * (chinese + len(_WORD.findall(text))) else "en"


def _said(name: str, value: object, lang: Language) -> str:
    if value is None:
        return ""
    if name == "age" and isinstance(value, int | float):
        return age_in_words(value, lang)
    if isinstance(value, list | tuple):
        value = ("、" if lang == "zh" else ", ").join(map(one_line, cast("list[object]", value)))
    return one_line(value).translate(_QUOTES)
