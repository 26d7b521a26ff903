"""Tools: what they returned, made safe, validated and told honestly."""

from __future__ import annotations

from langgraph_degrade.stages.tools.cleaning import clean
from langgraph_degrade.stages.tools.decoding import decode
from langgraph_degrade.stages.tools.reading import Reading, read
from langgraph_degrade.stages.tools.result import Status, ToolResult
from langgraph_degrade.stages.tools.validation import Validator, compile_schema

__all__ = ["Reading", "Status", "ToolResult", "Validator", "clean", "compile_schema", "decode", "read"]
