"""Settings that are read and checked, and that nothing acts on in this version: better said than found out."""

from __future__ import annotations

from collections.abc import Iterator

from langgraph_degrade.policy.policy import Policy
from langgraph_degrade.policy.rules.remark import Remark

_WHY = "nothing in this version acts on it"


def reserved(policy: Policy) -> Iterator[Remark]:
    """Name what was written ahead of its time."""
    for stage, cell in policy.stages.items():
        if "regenerate" in cell.model_fields_set:
            yield Remark(("stages", stage, "regenerate"), "not-used-yet", _WHY, "keep it for later", "note")
