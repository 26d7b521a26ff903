"""What is said about a tool call that was not run: to the model that made it, and to the customer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langgraph_degrade.texts import Language

CHOOSING: Mapping[str, Mapping[Language, str]] = {
    # --- to the model, in answer to a call that was not run ---
    "select.invented": {
        "en": "Not run: there is no tool “{tool}”. [Did you mean “{nearest}”? ]"
        "Call one of those below by its exact name, or answer without a tool and do not claim a result.",
        "zh": "没有执行：不存在工具「{tool}」。[是否想用「{nearest}」？]"
        "请使用下列工具的准确名称，或不用工具直接回答，不要声称已有结果。",
    },
    "select.no_tools": {
        "en": "Not run: no tools are available here. Answer without one, and do not claim a result.",
        "zh": "没有执行：这里没有可用的工具。请不用工具直接回答，不要声称已有结果。",
    },
    "select.missing": {
        "en": "Not run: “{tool}” lacks {arguments}. Take it from what the user said; where they have not said it, "
        "ask them. Do not invent values.",
        "zh": "没有执行：「{tool}」缺少参数 {arguments}。请从用户说过的内容中取值，没有说过的向用户询问，不要编造。",
    },
    "select.invalid": {
        "en": "Not run: “{tool}” does not take this as it is[: {arguments}]. Correct it from what the user said, or ask "
        "them. Do not invent values.",
        "zh": "没有执行：「{tool}」的参数不符合要求[：{arguments}]。请根据用户说过的内容改正，或向用户询问，不要编造。",
    },
    "select.unreadable": {
        "en": "Not run: the arguments of “{tool}” are not one JSON object. Send them again as one.",
        "zh": "没有执行：「{tool}」的参数不是一个 JSON 对象。请按一个 JSON 对象重新给出。",
    },
    "select.cut": {
        "en": "Not run: the call of “{tool}” was cut off before it was whole. Send it again, complete and shorter.",
        "zh": "没有执行：对「{tool}」的调用没有写完就被截断。请重新给出完整的调用，内容尽量精简。",
    },
    "select.sibling": {
        "en": "Not run, because another call in this message was wrong. Nothing was done; call it again along with the "
        "corrected one if it is still needed.",
        "zh": "没有执行，因为同一条消息中的另一个调用有误。没有任何改动；如仍需要，请与改正后的调用一起重新给出。",
    },
    "select.tools": {"en": "All the tools there are:", "zh": "全部可用的工具："},
    "select.takes": {"en": "What “{tool}” takes:", "zh": "「{tool}」的参数："},
    "select.takes_nothing": {"en": "“{tool}” takes no arguments.", "zh": "「{tool}」不需要参数。"},
    # --- to the customer ---
    "ask.one": {
        "en": "One thing I still need from you, as I would rather ask than guess: {what}.",
        "zh": "还需要您补充一项信息，以免弄错：{what}。",
    },
    "ask.several": {
        "en": "A few things I still need from you, as I would rather ask than guess:",
        "zh": "还需要您补充以下信息，以免弄错：",
    },
    "ask.open": {
        "en": "I am not sure yet what I can do for you here, and I would rather ask than guess. "
        "Could you say in a little more detail what you need?",
        "zh": "我还不能确定您需要办理什么，以免弄错，能否请您再具体说明一下？",
    },
    "ask.choices": {"en": "{what} (choose from: {choices})", "zh": "{what}（可选：{choices}）"},
    "ask.more_choices": {"en": "{what} (for example: {choices})", "zh": "{what}（例如：{choices}）"},
    "ask.yes": {"en": "yes", "zh": "是"},
    "ask.no": {"en": "no", "zh": "否"},
    # --- to the customer: what the commonest arguments are called, where a schema says nothing in their language ---
    "ask.name.address": {"en": "the address", "zh": "地址"},
    "ask.name.amount": {"en": "the amount", "zh": "金额"},
    "ask.name.city": {"en": "the city", "zh": "城市"},
    "ask.name.date": {"en": "the date", "zh": "日期"},
    "ask.name.email": {"en": "your e-mail address", "zh": "电子邮箱"},
    "ask.name.name": {"en": "the name", "zh": "姓名"},
    "ask.name.order_id": {"en": "the order number", "zh": "订单号"},
    "ask.name.phone": {"en": "your telephone number", "zh": "手机号"},
    "ask.name.product_id": {"en": "the product number", "zh": "商品编号"},
    "ask.name.quantity": {"en": "the quantity", "zh": "数量"},
    "ask.name.reason": {"en": "the reason", "zh": "原因"},
    "ask.name.sku": {"en": "the product number", "zh": "商品编号"},
    "ask.name.ticket_id": {"en": "the ticket number", "zh": "工单号"},
    "ask.name.tracking_number": {"en": "the tracking number", "zh": "物流单号"},
}
