"""A call's arguments held against the tool's schema: every argument that is missing or invalid, by name.

`jsonschema-rs` decides, as it does for results (`stages.tools.validation`), where the first fault is enough. Here all
of them are wanted at once: a model that is told one thing at a time takes as many turns.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from langgraph_degrade.stages.selecting.offers import Offer
from langgraph_degrade.stages.tools.locating import json_path
from langgraph_degrade.stages.tools.validation import engine_for

_log = logging.getLogger("langgraph_degrade")

Finding = tuple[Literal["missing", "invalid"], str]
"""What, and which argument; no name where it is the arguments as a whole."""

_MOST = 50
"""Faults looked at ○."""


def judged(args: Mapping[str, Any], offer: Offer) -> list[Finding]:
    """Every fault of the arguments; none where they validate."""
    engine = _compiled(offer)
    try:
        if engine is None or engine.is_valid(dict(args)):
            return []
        found = [finding for _, error in zip(range(_MOST), engine.iter_errors(dict(args)), strict=False)
                 for finding in _findings(error, offer)]  # fmt: skip
    except Exception:  # what it can't even take in: keys that are no text, nesting without end
        return [("invalid", "")]
    return sorted(found, key=lambda finding: finding[0] != "missing")


def _compiled(offer: Offer) -> Any:
    try:
        return engine_for(offer.schema)
    except Exception as error:
        _log.warning("the schema of tool %s can't be read (%s): its calls are not held to it", offer.name, type(error))
        return None


def _findings(error: Any, offer: Offer) -> Iterator[Finding]:
    kind = error.kind.name
    if kind in ("anyOf", "oneOf") and (inner := _meant(error)):
        for part in inner:
            yield from _findings(part, offer)
    elif kind == "required":
        yield "missing", _name([*error.instance_path, error.kind.property])
    elif kind in ("additionalProperties", "unevaluatedProperties"):
        for name in error.kind.unexpected:
            yield "invalid", _name([*error.instance_path, name])
    else:
        yield _is_missing(error, offer), _name(error.instance_path)


def _meant(error: Any) -> list[Any]:
    """The faults of the alternative that was meant: `Order | None` given an order complains about the order.

    Where several could be meant (an order number or a telephone number), the one that lacks least.
    """
    if not hasattr(error.kind, "context"):
        return []
    depth = len(error.instance_path)
    meant = [list(branch) for branch in error.kind.context if not any(_is_another(part, depth) for part in branch)]
    lacking = [branch for branch in meant if all(part.kind.name == "required" for part in branch)]
    return min(lacking, key=len) if lacking else meant[0] if len(meant) == 1 else []


def _is_another(error: Any, depth: int) -> bool:
    return error.kind.name in ("type", "const", "enum") and len(error.instance_path) == depth


def _is_missing(error: Any, offer: Offer) -> Literal["missing", "invalid"]:
    """A null where something must be is as good as missing."""
    path = error.instance_path
    needed = len(path) > 1 or (len(path) == 1 and path[0] in offer.required)
    return "missing" if needed and error.instance is None else "invalid"


def _name(path: list[str | int]) -> str:
    """`address.city`, `items[0].sku`; keys that can't be a field's name are somebody's data, and show as `*`."""
    return json_path(path, root="").removeprefix(".")
