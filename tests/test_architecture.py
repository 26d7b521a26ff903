"""The package is built the way its design says: imports point one way, and importing it costs and does nothing."""

from __future__ import annotations

import ast
import importlib
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import langgraph_degrade

ROOT = Path(langgraph_degrade.__file__).parent
MODULES = {
    path.relative_to(ROOT).with_suffix("").as_posix(): ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")
}

GROUND = {"errors", "failures", "policy", "context", "texts"}
CORE = GROUND | {"engine"}
PLUGGED_IN = {"store", "handoff", "observe", "faults"}
"""What plugs into the engine through Protocols of the engine's own, which never import it."""
MAY_IMPORT = {
    "errors": set[str](),
    "texts": {"errors"},
    "failures": {"errors"},
    "policy": GROUND,
    "context": GROUND,
    "engine": CORE,
    **{room: CORE | {room} for room in PLUGGED_IN},
    "testing": CORE | PLUGGED_IN,
    "stages": CORE | {"stages"},
    "adapters": CORE | {"stages", "adapters"},
    "degrader": CORE | PLUGGED_IN | {"stages", "adapters"},
    "cli": CORE | PLUGGED_IN | {"stages", "adapters", "degrader", "testing"},
}
VAGUE = {"utils", "util", "base", "helpers", "types", "common", "misc"}
LATE = ("langchain", "opentelemetry", "redis", "pybreaker", "jsonschema", "jsonschema_rs", "tiktoken")
"""Imported where they are used, never by `import langgraph_degrade` (design section 4)."""


def _room(module: str) -> str:
    return module.split("/", maxsplit=1)[0]


def _imports(tree: ast.AST) -> Iterator[str]:
    """The rooms of this package that a module imports from, wherever in it the import stands."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "langgraph_degrade" and rest:
                yield rest.split(".", maxsplit=1)[0]


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"__init__"}))
def test_imports_point_one_way(module: str):
    assert _room(module) in MAY_IMPORT, "a new room: say in this test, and in the design, what it stands on"
    allowed = MAY_IMPORT[_room(module)] | {_room(module)}
    assert set(_imports(MODULES[module])) <= allowed


def test_module_names_say_what_is_inside():
    assert not {part.strip("_") for module in MODULES for part in module.split("/")} & VAGUE


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"engine/clock"}))
def test_only_the_clock_waits(module: str):
    """Tests may write `asyncio.sleep`: on the virtual loop it takes no time. The package asks its `Clock`."""
    assert "asyncio.sleep" not in ast.unparse(MODULES[module]) or _room(module) == "testing"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_keeps_no_state(module: str):
    """Module-level names are constants, types, context variables or the logger; anything else would outlive an application."""
    assert not [name for name in _module_variables(MODULES[module]) if not _may_stay(name)]


def _module_variables(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def _may_stay(variable: tuple[str, ast.expr | None]) -> bool:
    name, value = variable
    bare = name.strip("_")
    called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    constant = bare[:1].isupper() or name.startswith("__")
    return constant or called.endswith(("getLogger", "ContextVar", "TypeVar", "ParamSpec", "frozenset", "getattr"))


def test_public_names_are_sorted_and_there():
    names = list(langgraph_degrade.__all__)
    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(langgraph_degrade, name)] == []


def test_every_module_imports_on_its_own():
    for module in MODULES:
        importlib.import_module(".".join(["langgraph_degrade", *module.split("/")]).removesuffix(".__init__"))


def _fresh(statement: str, report: str) -> list[str]:
    code = f"import json, sys; {statement}; print(json.dumps({report}))"
    return json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def test_importing_brings_in_nothing_that_is_used_late():
    ours, langgraphs = (
        set(_fresh(f"import {name}", "list(sys.modules)")) for name in ("langgraph_degrade", "langgraph.graph")
    )
    assert {name for name in ours - langgraphs if name.split(".")[0] in LATE} == set()


def test_importing_starts_nothing():
    """No thread, and no handler but the one that keeps a library quiet: an application begins with its `Degrader`."""
    report = "[t.name for t in threading.enumerate()] + [type(h).__name__ for h in logging.getLogger('langgraph_degrade').handlers]"
    assert _fresh("import threading, logging, langgraph_degrade", report) == ["MainThread", "NullHandler"]


def test_importing_leaves_logging_to_the_application():
    assert logging.getLogger("langgraph_degrade").level == logging.NOTSET
