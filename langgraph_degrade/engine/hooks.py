"""The user's own hooks beside a call: `refresh` a token, `verify` a write. Within the target's time; never a failure."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.plan import is_async_callable

if TYPE_CHECKING:
    from langgraph_degrade.engine.errand import Errand

log = logging.getLogger("langgraph_degrade")


async def run_hook(errand: Errand, hook: Callable[[], Any]) -> Any:
    """Run `hook`; where it fails, that is logged and the result is None."""
    plan, ground = errand.plan, errand.ground
    limit, own_thread, _ = plan.target.limit(errand.call, errand.scope, ground.now())
    try:
        return await ground.ports.call(hook, is_async=is_async_callable(hook), timeout=limit, own_thread=own_thread)
    except Exception as error:
        if ambient.is_control_flow(error):
            raise
        log.warning("hook of %s failed: %s", plan.target.name, type(error).__name__)
        return None


async def read_back(errand: Errand) -> bool | None:
    """Ask the declared `verify` whether this write happened: True, False, or None (can't tell)."""
    verify = errand.plan.verify
    if verify is None:
        return None
    seen = await run_hook(errand, partial(verify, dict(errand.call.named), ambient.config()))
    if seen is None or isinstance(seen, bool):
        return seen
    name = errand.plan.target.name
    log.warning("verify of %s gave %s; only True, False and None say something", name, type(seen).__name__)
    return None
