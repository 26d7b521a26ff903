"""README's Python runs as it stands, in order, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from langchain_core.tools import tool

from langgraph_degrade import DegradeContext, Policy, ToolResult
from tests.agents import ScriptedModel, asks

README = Path(__file__).parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@tool
def get_order(order_id: str) -> dict[str, str]:
    """Look up an order."""
    return {"order_id": order_id, "status": "packed"}


@tool
def get_stock(sku: str) -> int:
    """Look up the stock."""
    return 7


@tool
def create_ticket(order_id: str) -> str:
    """Open a ticket."""
    return "T-1"


def test_every_python_block_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(README.parent)
    space: dict[str, Any] = {
        "model": ScriptedModel.saying(asks(("get_order", {"order_id": "SO-1"})), "It is packed."),
        **{name: ScriptedModel.saying("Hello.") for name in ("backup", "small", "minimal")},
        "get_order": get_order,
        "get_stock": get_stock,
        "create_ticket": create_ticket,
        "plan": lambda state: {},
        "plan_from_keywords": lambda state: {},
        "inventory": {"A-1": 7},
    }
    python = blocks("python")
    assert len(python) >= 6
    for block in python:
        exec(compile(block, "README.md", "exec"), space)
    assert space["stock"]("A-1") == 7
    assert space["stock"]("nothing such") == 0
    assert ToolResult.of(space["message"]) == space["result"]
    assert isinstance(space["context"], DegradeContext)
    assert space["out"]["messages"][-1].content == "It is packed."


def test_the_policy_shown_is_a_policy() -> None:
    [shown] = blocks("yaml")
    policy = Policy.model_validate(yaml.safe_load(shown))
    assert policy.target("tool:create_ticket").intent == ("order_id", "issue_type")


def test_the_chinese_readme_shows_the_same_code_and_the_same_figures() -> None:
    english, chinese = (path.read_text(encoding="utf-8") for path in (README, README.with_name("README.zh-CN.md")))
    shown = [re.findall(r"```\w+\n.*?```", text, re.DOTALL) for text in (english, chinese)]
    assert shown[0] == shown[1]
    figures = [re.findall(r"^\|.*?((?: \d+ \|){6})$", text, re.MULTILINE) for text in (english, chinese)]
    assert len(figures[0]) == 3
    assert figures[0] == figures[1]
