"""`check`: read a policy as its author would in hindsight. Errors refuse it, findings only tell."""

from __future__ import annotations

import os
from dataclasses import dataclass

from langgraph_degrade.policy.policy import Policy, load
from langgraph_degrade.policy.problems import Lines, line_of, path
from langgraph_degrade.policy.rules import RULES, Level


@dataclass(frozen=True, slots=True)
class Finding:
    """Something valid that will surprise."""

    code: str
    """Stable name of the rule, such as `write-with-cache`."""
    level: Level
    """`warning`: probably not what was meant. `note`: true, worth knowing, and sometimes unavoidable."""
    place: str
    line: int | None
    why: str
    fix: str


def check(source: str | os.PathLike[str]) -> list[Finding]:
    """Load a policy file and list what is odd about it, in the file's order; raises `PolicyError` if it is wrong."""
    policy, lines = load(source)
    return findings(policy, lines)


def findings(policy: Policy, lines: Lines | None = None) -> list[Finding]:
    """List what is odd about a policy; said once where several targets share the cause.

    Example:
        >>> [finding.code for finding in findings(Policy())]
        ['no-handoff-sink']
    """
    found = {
        (remark.code, remark.place, remark.why): Finding(
            remark.code, remark.level, path(remark.place), line_of(remark.place, lines or {}), remark.why, remark.fix
        )
        for rule in RULES
        for remark in rule(policy)
    }
    return sorted(found.values(), key=lambda finding: finding.line or 0)
