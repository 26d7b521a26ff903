"""What the tests of tool selection share: the tools of a shop, and messages that call them."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk


def tool(name: str, properties: dict[str, Any] | None = None, *required: str, **more: Any) -> dict[str, Any]:
    """A tool in OpenAI's format."""
    schema = {"type": "object", "properties": properties or {}, "required": list(required), **more}
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": schema}}


ADDRESS = {"type": "object", "properties": {"city": {"type": "string", "title": "城市"}}, "required": ["city"]}
ORDER = tool(
    "get_order",
    {
        "order_id": {"type": "string", "description": "订单号，例如 SO-1001"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "page": {"type": "integer", "default": 1},
    },
    "order_id",
)
REFUND = tool(
    "refund",
    {
        "order_id": {"type": "string", "title": "Order Id"},
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "way": {"enum": ["original", "balance"], "description": "退款方式"},
    },
    "order_id",
    "amount",
    additionalProperties=False,
)
SHIP = tool(
    "ship",
    {
        "address": {"$ref": "#/$defs/Address"},
        "second": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]},
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
    },
    "address",
    **{
        "$defs": {
            "Address": ADDRESS,
            "Item": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]},
        }
    },
)
HOURS = tool("opening_hours")
TOOLS = [ORDER, REFUND, SHIP, HOURS]


def call(name: str, args: Any, id: str | None = "c1") -> dict[str, Any]:
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def said(*calls: dict[str, Any], given_up: tuple[dict[str, Any], ...] = (), **metadata: Any) -> AIMessage:
    """A message with these calls; `given_up` are those LangChain could not parse."""
    broken = [{"error": "no JSON", **call, "type": "invalid_tool_call"} for call in given_up]
    return AIMessage("", tool_calls=list(calls), invalid_tool_calls=broken, response_metadata=metadata)


def streamed(*calls: tuple[str | None, str | None], **metadata: Any) -> AIMessageChunk:
    """The sum of a stream that wrote these (name, text of arguments)."""
    chunks = [
        AIMessageChunk("", tool_call_chunks=[{"name": name, "args": text, "id": f"c{index}", "index": index}])
        for index, (name, text) in enumerate(calls, 1)
    ]
    last = AIMessageChunk("", chunk_position="last", response_metadata={"finish_reason": "tool_calls", **metadata})
    total = last
    for chunk in reversed(chunks):
        total = chunk + total  # type: ignore[assignment]
    return total
