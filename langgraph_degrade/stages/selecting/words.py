"""What customers call things, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from langgraph_degrade.texts import Language

NAMES: Final[Mapping[str, Mapping[Language, str]]] = {
    "address": {"en": "the address", "zh": "地址"},
    "amount": {"en": "the amount", "zh": "金额"},
    "city": {"en": "the city", "zh": "城市"},
    "date": {"en": "the date", "zh": "日期"},
    "email": {"en": "your e-mail address", "zh": "电子邮箱"},
    "name": {"en": "the name", "zh": "姓名"},
    "order_id": {"en": "the order number", "zh": "订单号"},
    "phone": {"en": "your telephone number", "zh": "手机号"},
    "product_id": {"en": "the product number", "zh": "商品编号"},
    "quantity": {"en": "the quantity", "zh": "数量"},
    "reason": {"en": "the reason", "zh": "原因"},
    "sku": {"en": "the product number", "zh": "商品编号"},
    "ticket_id": {"en": "the ticket number", "zh": "工单号"},
    "tracking_number": {"en": "the tracking number", "zh": "物流单号"},
}
"""What customers call the commonest arguments, where a schema says nothing in their language."""
