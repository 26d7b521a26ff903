"""The sentences of the menu, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from langgraph_degrade.texts import Language


class Words(NamedTuple):
    """What a menu says in one language."""

    task: str
    menu: str
    plain_option: str
    parameters: str
    none: str
    optional: str
    rules: str
    earlier: str
    """Stands over what was said before the last message."""
    user: str
    assistant: str
    result: str
    """How lines of the dialogue begin; {name} is the tool's."""
    now: str
    """Begins the last message where others came before it."""
    go_on: str
    """What to do after a tool's result."""
    hint: str
    """Where the words point to {names}."""
    ask: str
    """Asks for {what} is missing."""
    request: str
    bare_request: str
    something: str
    comma: str
    plain: tuple[tuple[str, str], ...]
    """Samples of plain answers: something said, the answer."""


WORDS: Mapping[Language, Words] = {
    "en": Words(
        task="You choose what to do next for the user. Pick one number from the menu for the user's last message.",
        menu="Menu:",
        plain_option="0 = none: no tool fits, or something required is missing: answer or ask in plain words",
        parameters="arguments",
        none="no arguments",
        optional="optional",
        rules='Reply with one line of JSON and nothing else: {"tool": NAME, "number": N, "arguments": {...}} for a tool, else '
        '{"tool": "none", "number": 0, "text": "..."}. Copy ids, numbers and names exactly as the user wrote them. Never invent a value.',
        earlier="Earlier:",
        user="User: ",
        assistant="You: ",
        result="Result of {name}: ",
        now="The user says now: ",
        go_on="Now answer the user with these results (number 0), or pick the next tool.",
        hint="(most likely: {names})",
        ask="Please tell me the {what}.",
        request="Please {purpose}: {given}",
        bare_request="Please {purpose}",
        something="something the user said",
        comma=", ",
        plain=(("Hello!", "Hello! How can I help you?"),),
    ),
    "zh": Words(
        task="你负责为用户选择下一步操作。请根据用户的最后一句话，从菜单中选一个编号。",
        menu="菜单：",
        plain_option="0 = none：没有合适的工具，或缺少必填参数：用文字回答或询问",
        parameters="参数",
        none="无参数",
        optional="可选",
        rules='只回复一行 JSON，不要其他内容：使用工具时 {"tool": 名称, "number": 编号, "arguments": {...}}，否则 '
        '{"tool": "none", "number": 0, "text": "..."}。编号、数字、名称必须照抄用户的原文，绝不编造。',
        earlier="此前的对话：",
        user="用户：",
        assistant="你：",
        result="{name} 的结果：",
        now="用户现在说：",
        go_on="现在请根据这些结果用文字回答用户（编号 0），或选择下一个工具。",
        hint="（最可能：{names}）",
        ask="请提供 {what}。",
        request="请{purpose}：{given}",
        bare_request="请{purpose}",
        something="用户说的内容",
        comma="，",
        plain=(("你好！", "您好！请问有什么可以帮您？"),),
    ),
}
