"""Where measurements go: `results/NAME.json` for machines, one part of `RESULTS.md` for people.

Every benchmark calls `publish`; each owns its part of `RESULTS.md`, between two markers, and leaves the others alone.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
HEAD = """# What was measured

Each part is written by the benchmark it is named after; nothing here is typed by hand. Figures of one part come from one
run on one machine: compare within a part, never across.
"""
WATCHED = (
    "langgraph-degrade", "langgraph", "langchain", "langchain-core", "langchain-openai", "pydantic", "jsonschema",
    "jsonschema-rs", "pybreaker", "tenacity",
)  # fmt: skip


def publish(name: str, title: str, text: str, data: Mapping[str, Any], *, folder: Path = FOLDER) -> Path:
    """Write `data` to `results/NAME.json` and `text` (Markdown) to the part of `RESULTS.md` that belongs to `name`.

    Returns the path of the JSON file. `text` needs no headline, date or machine: they are put above it.
    """
    about = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine(), "versions": versions()}
    path = folder / "results" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"name": name, **about, **data}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    _write_part(folder / "RESULTS.md", name, f"## {title}\n\n{_about(about)}\n\n{text.strip()}")
    return path


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a Markdown table that also reads well as plain text."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines)


def machine() -> dict[str, str | int | None]:
    """Return what the figures depend on; no host, user or path."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages the figures depend on."""
    found: dict[str, str] = {}
    for name in WATCHED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _about(about: Mapping[str, Any]) -> str:
    on, packages = about["machine"], about["versions"]
    where = f"{about['date']}, {on['processor']}, {on['cores']} cores, {on['system']}, {on['python']}"
    return f"{where}; " + ", ".join(f"{name} {number}" for name, number in packages.items()) + "."


def _write_part(path: Path, name: str, text: str) -> None:
    before = path.read_text("utf-8") if path.exists() else HEAD
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    part = f"{begin}\n{text}\n{end}\n"
    old = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}\n", re.DOTALL)
    after = old.sub(lambda _: part, before) if old.search(before) else f"{before.rstrip()}\n\n{part}"
    path.write_text(after, "utf-8")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.processor() or platform.machine()
