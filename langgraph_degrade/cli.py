"""The command line. Exit codes: 0 fine, 1 warnings under `--strict`, 2 an error."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from langgraph_degrade.errors import PolicyError
from langgraph_degrade.policy.check import Finding, check

_CHECK = """\
Read a policy file (.yaml, .json or .toml) and say what is wrong with it, where, and what would be right.
A wrong policy is an error. One that is valid but will surprise gets warnings and notes."""

_EXIT_CODES = """\
exit codes:
  0  valid (warnings and notes are only told)
  1  valid, with warnings, under --strict
  2  wrong, or not readable"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` without the program's name, by default the process's."""
    if reconfigure := getattr(sys.stdout, "reconfigure", None):  # names of tools may be Chinese, terminals may not
        reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    code: int = options.run(options)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="langgraph-degrade", description="Graceful degradation for LangGraph and LangChain agents."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command = commands.add_parser(
        "check",
        help="find errors and surprises in a policy file",
        description=_CHECK,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("file", metavar="FILE", help="the policy; paths inside it start from its own directory")
    command.add_argument("--json", action="store_true", help="print one JSON object: file, errors, warnings, notes")
    command.add_argument("--strict", action="store_true", help="exit with 1 if there are warnings (notes do not count)")
    command.set_defaults(run=_check)
    return parser


def _check(options: argparse.Namespace) -> int:
    try:
        findings, error = check(options.file), None
    except PolicyError as refused:
        findings, error = [], refused
    (_print_json if options.json else _print_text)(options.file, findings, error)
    if error:
        return 2
    return 1 if options.strict and _of(findings, "warning") else 0


def _print_json(file: str, findings: Sequence[Finding], error: PolicyError | None) -> None:
    report = {
        "file": file,
        "errors": [asdict(problem) for problem in error.problems] if error else [],
        "warnings": [asdict(finding) for finding in _of(findings, "warning")],
        "notes": [asdict(finding) for finding in _of(findings, "note")],
    }
    print(json.dumps(report, indent=2, ensure_ascii=True))


def _print_text(file: str, findings: Sequence[Finding], error: PolicyError | None) -> None:
    if error:
        print(error, file=sys.stderr)
        return
    for one in findings:
        where = file if one.line is None else f"{file}:{one.line}"
        print(f"{where}: {one.level}: {one.place}: {one.why}; {one.fix} [{one.code}]")
    warnings, notes = len(_of(findings, "warning")), len(_of(findings, "note"))
    print(f"{file}: valid, {_count(warnings, 'warning')}, {_count(notes, 'note')}")


def _of(findings: Iterable[Finding], level: str) -> list[Finding]:
    return [finding for finding in findings if finding.level == level]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
