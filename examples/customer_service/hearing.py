"""What a customer hears in a reply, Chinese or English: the judge's ear. It knows no agent and no library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

Told = Literal["right", "right_but_old", "old", "stale_as_fresh", "false", "missing", "silent"]
"""About a fact. `right_but_old`: the true value, said to be old; `old`: a former value, said to be old."""
Claim = Literal["done", "not_done", "unknown", "missing", "silent"]
"""About a write. `missing`: whether it was done cannot be looked up, or the service is not available."""

SENTENCE = re.compile(r"[。！？!?\n]|\.(?=\s|$)")
CLAUSE = re.compile(r"[。！？!?\n；;]|\.(?=\s|$)")
IDS = re.compile(r"\b(?:DD\d{4}|P-\d{3}|[TRS]\d{5})\b", re.ASCII)
NUMBER = re.compile(r"\b[TRS]\d{5}\b", re.ASCII)  # who is given a number takes the thing as done
AGES = re.compile(r"\d+(?:\.\d+)?\s*(?:秒|分钟|小时|s\b|sec|min|hours?\b)", re.IGNORECASE)


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


ERROR_TEXT = _any(
    r"Traceback", r"\b\w*(?:Error|Exception)\b(?!s?\s+(?:rate|handling))", r"Errno", r"failed after \d+ attempts?",
    r"https?://127", r"ReadTimeout", r"status[ _]code", r"工具.*报错",
)  # fmt: skip
FRESH = _any(
    "最新",
    "实时(?!的? ?(?:数据)?可能)",
    r"\blatest\b",
    r"up[ -]to[ -]date",
    r"right now",
    "目前",
    "此刻",
    r"\bcurrently\b",
)
NOT_FRESH = _any(
    "不是实时",
    "非实时",
    "并非最新",
    "不是最新",
    "不一定是最新",
    "可能不是",
    r"\bnot (?:be )?(?:the )?(?:latest|live|current|up)",
)
OLD = _any(
    "可能.{0,6}延迟", "不是实时", "非实时", "不是最新", "并非最新", "可能不是", "可能已(?:经)?(?:变|过)", "缓存", "之前查到", "上次(?:查|获)",
    r"截至", r"(?:秒|分钟|小时)(?:之?前|以前)", r"out of date", r"outdated", r"\bstale\b", r"\bcached\b", r"last known",
    r"(?:seconds?|minutes?|hours?|\bs|\bmin)\s+(?:ago|old)", r"\bas of\b", r"may have changed", r"not (?:be )?(?:the )?(?:live|latest|current)",
    r"not up[ -]to[ -]date", r"may not be",
)  # fmt: skip
MISSING = _any(
    "暂时(?:还)?(?:无法|不能|查不到|没能|不可)", "无法(?:获取|查询|查到|访问|核实|处理)", "暂未获取", "未能(?:获取|查询|查到)", "暂不可用", "不可用",
    "暂时没有结果", "查询(?:失败|不到)", "暂不支持", r"not (?:currently )?available", r"unavailable", r"unable to",
    r"(?:can ?not|can't|could not|couldn't) (?:be )?(?:look|check|retriev|fetch|reach|access|process|get|handle|answer)\w*",
    r"temporarily", r"at the moment",
)  # fmt: skip
NONE = _any(
    "没有查到",
    "未查到",
    "不存在",
    "没有.{0,12}(?:记录|信息)",
    r"no (?:record|such|information|tracking|parcel)",
    r"not found",
    r"(?:does|do) not exist",
    r"doesn't exist",
)
UNKNOWN = _any(
    "不确定", "未知", "(?:无法|不能|尚未|还没|没能|未能)(?:得到)?(?:确认|确定)", "不清楚", "待确认", "是否(?:已经?)?(?:成功|完成|办成|生效|提交)", "核实中",
    r"not (?:yet )?(?:known|certain|sure|clear|confirmed)", r"unknown", r"uncertain", r"unclear", r"may or may not", r"un?confirmed",
    r"(?:can ?not|can't|could not|couldn't) (?:confirm|tell|say|verify)", r"whether (?:it|this|the \w+)",
)  # fmt: skip
NOT_DONE = _any(
    "未能", "没能", "停下来", "停在这里", r"before I could", r"had to stop", r"no answer came", "(?:没有?|未|不)(?:成功|完成|办成|提交|执行|办理|建立|创建)", "失败", "无法(?:完成|办理|提交|创建|建立|为您)", "重新提交", "没有查到", "没有.{0,12}(?:工单|记录|退款|安排)",
    r"could not", r"couldn't", r"can ?not", r"can't", r"\bfail", r"(?:has|have|was|were|is) not", r"(?:hasn|wasn|isn)'t", r"did(?: not|n't)",
    r"not (?:been )?(?:done|completed|created|opened|submitted|executed)", r"no (?:record|arrangement|ticket|refund)", r"not found", r"submit (?:it )?again",
)  # fmt: skip
DONE = _any(
    "已(?:经)?(?:为您)?(?:成功)?(?:建立|建好|创建|提交|安排|登记|受理|办理|办好|完成|退款|生成|发起)", "成功", "预计.{0,16}(?:发出|发货)",
    r"(?:has|have) been (?:opened|created|submitted|arranged|registered|issued|processed|scheduled|completed|placed|refunded|approved)",
    r"\b(?:opened|created|submitted|arranged|registered|scheduled|issued|processed|done)\b", r"will ship on", r"expected to ship", r"went through", r"gone through",
)  # fmt: skip
NEXT_STEP = _any("人工", "致电", "拨打", "电话", r"400-", r"\bcall\b", r"\bphone\b", r"hotline", r"human", r"colleague")
WHOLE_REQUEST = _any(
    "请求",
    "操作",
    "事项",
    "办理",
    "您的问题",
    r"your (?:request|question|order)",
    r"what you asked",
    r"\baction",
    r"the request",
    r"before I could finish",
    r"had to stop",
    r"no answer came",
    "没能",
    "停",
)


def sentences(reply: str) -> list[str]:
    """Split a reply at full stops and line ends."""
    return [part.strip() for part in SENTENCE.split(reply) if part.strip()]


def clauses(reply: str) -> list[str]:
    """Split a reply at semicolons as well: each may speak of another write."""
    return [part.strip() for part in CLAUSE.split(reply) if part.strip()]


def hear_value(
    reply: str, topic: re.Pattern[str], now: re.Pattern[str], others: re.Pattern[str], olds: re.Pattern[str] | None
) -> Told:
    """Tell what `reply` says about a fact whose value is `now`, was one of `olds`, and is none of `others`."""
    parts = sentences(reply)
    figures = [AGES.sub(" ", IDS.sub(" ", part)) for part in parts]
    if said := _having(figures, now):
        return "right_but_old" if _said_to_be_old(parts, said) else "right"
    if olds and (said := _having(figures, olds)):
        return "old" if _said_to_be_old(parts, said) else "stale_as_fresh"
    about = [part for part in figures if topic.search(part)]
    if any(others.search(part) or (NONE.search(part) and not MISSING.search(part)) for part in about):
        return "false"
    if any(MISSING.search(part) for part in about) or handed_over(reply):
        return "missing"
    return "silent"


def hear_absence(reply: str, topic: re.Pattern[str]) -> Told:
    """Tell whether `reply` says that a thing does not exist."""
    about = [part for part in sentences(reply) if topic.search(part)]
    if any(NONE.search(part) for part in about):
        return "right"
    return "missing" if any(MISSING.search(part) for part in about) or handed_over(reply) else "silent"


def hear_claim(reply: str, topics: Sequence[re.Pattern[str]]) -> Claim:
    """Tell what `reply` says about a write it is asked to do; `topics` name it, the most exact first.

    A reply that names none of them may still say that the request as a whole was not carried out.
    """
    said = _first_claim(reply, topics)
    whole = _first_claim(reply, [WHOLE_REQUEST]) if said == "silent" else said
    return said if whole == "done" else whole


def hear_answer(reply: str, topics: Sequence[re.Pattern[str]]) -> Claim:
    """Tell what `reply` says to the question whether a write was done."""
    said = _first_claim(reply, topics)
    return "missing" if said == "silent" and handed_over(reply) else said


def _first_claim(reply: str, topics: Iterable[re.Pattern[str]]) -> Claim:
    order: tuple[Claim, ...] = ("unknown", "not_done", "missing", "done")
    for topic in topics:
        claims = set(_claims(clauses(reply), topic))
        for claim in order:
            if claim in claims:
                return claim
    return "silent"


def handed_over(reply: str) -> bool:
    """Tell whether a reply says that nothing could be done now, and how the customer gets on."""
    return bool((MISSING.search(reply) or NOT_DONE.search(reply)) and NEXT_STEP.search(reply))


def _claims(parts: Sequence[str], topic: re.Pattern[str]) -> Iterator[Claim]:
    """Yield what is said where the topic is named, or right after it where that says nothing."""
    for part, following in zip(parts, (*parts[1:], ""), strict=True):
        if topic.search(part):
            claim = _claim(part)
            yield _claim(following) if claim == "silent" else claim


def _claim(part: str) -> Claim:
    claims: tuple[tuple[Claim, re.Pattern[str]], ...] = (
        ("unknown", UNKNOWN),
        ("missing", MISSING),
        ("not_done", NOT_DONE),
        ("done", DONE),
        ("done", NUMBER),
    )
    for claim, words in claims:
        if words.search(part):
            return claim
    return "silent"


def _having(parts: Sequence[str], value: re.Pattern[str]) -> list[int]:
    return [index for index, part in enumerate(parts) if value.search(part)]


def _said_to_be_old(parts: Sequence[str], indices: Iterable[int]) -> bool:
    """Every sentence with the value is called old, in it or right beside it, and never called fresh."""
    return all(
        any(OLD.search(part) for part in parts[max(0, index - 1) : index + 2])
        and not FRESH.search(NOT_FRESH.sub("", parts[index]))
        for index in indices
    )
