"""Policy files: the documented one loads as written, and no file does worse than one clear error."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_degrade.errors import PolicyError
from langgraph_degrade.policy import BreakerRule, CachePolicy, Policy, QueryTimeouts

DOCUMENTED = """\
request:  {retries: 3, retry_time: 8s, max_depth: 3}      # attempts and waiting, not a hard end (spec T2)
timeouts: {tool: 3s, session: auto, user: 240s}
tools:
  get_stock:
    scene: stock_query
    effect: read
    timeout: {basic: 3s, complex: 10s}
    result_schema: schemas/stock.json          # or the schema inline; a pydantic model may be passed in code
    cache: {ttl: 30s, scope: [user_id]}
    core: false                   # the `chain` rung may skip it
    ladder: [params, data, function]                  # handoff always follows
    params: {drop: [include_warehouses], set: {page_size: 1}}
    endpoints: [primary, backup]                      # alternatives for data/function; `offline:` names a callable
    capacity: 100/s               # ramp and quotas stay below it
    breakers:
      - {kind: each, window: 60s, rate: 0.3, consecutive: 3, errors: 20, min_calls: 10, open_for: 30s, ramp: 30s, probes: 3}
  create_ticket: {scene: after_sale_ticket, effect: write, interruptible: false, verify: find_ticket, ladder: [handoff]}
targets:                        # the same fields for anything else: names given to guard(), nodes, savers
  inventory: {timeout: 1s, cache: {ttl: 60s}}
scenes:
  after_sale_ticket: {priority: high, alternative: "You can call 400-000-0000 …"}
models:
  probe: {every: 30s, switch_below: 0.5}
stages:
  answer: {regenerate: 1}
language: auto
"""
STOCK = {"type": "object", "required": ["stock"], "properties": {"stock": {"type": "integer"}}}
EXAMPLE = Path(__file__).parents[2] / "examples" / "degrade.yaml"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file, by default a policy in YAML."""

    def writer(content: str | bytes, name: str = "degrade.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return writer


def refusal(path: Path) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    return caught.value


@pytest.mark.row("R1")
def test_the_documented_policy_loads_as_it_is_written(write: Write):
    write(json.dumps(STOCK), "schemas/stock.json")
    policy = Policy.load(write(DOCUMENTED))
    cell = policy.target("tool:get_stock")
    assert cell.timeout == QueryTimeouts(basic=3, complex=10)
    assert cell.result_schema == STOCK
    assert cell.cache == CachePolicy(ttl=30, scope=("user_id",))
    assert cell.params
    assert (cell.params.drop, cell.params.set) == (("include_warehouses",), {"page_size": 1})
    assert (cell.endpoints, cell.capacity, cell.breakers) == (("primary", "backup"), 100.0, (BreakerRule(),))
    ticket = policy.target("tool:create_ticket")
    assert (ticket.effect, ticket.priority, ticket.ladder) == ("write", "high", ("handoff",))
    assert ticket.alternative == "You can call 400-000-0000 …"
    assert policy.target("inventory").timeout == QueryTimeouts(basic=1, complex=1)
    assert (policy.timeouts.session, policy.models.probe.every) == ("auto", 30)


def test_the_example_loads():
    policy = Policy.load(EXAMPLE)
    assert policy.target("tool:create_ticket").ladder == ("handoff",)
    assert policy.target("tool:get_stock").result_schema


SAME = {
    "degrade.yaml": "tools:\n  a: {effect: read, timeout: 3s, capacity: 60/m}\n",
    "degrade.yml": "tools: {a: {effect: read, timeout: 3, capacity: 1}}",
    "degrade.json": '{"tools": {"a": {"effect": "read", "timeout": "3s", "capacity": "60/m"}}}',
    "degrade.toml": '[tools.a]\neffect = "read"\ntimeout = "3s"\ncapacity = "60/m"\n',
    "with-bom.json": '\ufeff{"tools": {"a": {"effect": "read", "timeout": 3.0, "capacity": 1}}}',
    "UPPER.YAML": "tools: {a: {effect: read, timeout: 3s, capacity: 1/s}}",
}


@pytest.mark.parametrize("name", SAME)
def test_yaml_json_and_toml_say_the_same(write: Write, name: str):
    expected = Policy.model_validate({"tools": {"a": {"effect": "read", "timeout": 3, "capacity": 1}}})
    assert Policy.load(write(SAME[name], name)) == expected


@pytest.mark.parametrize("name", ["empty.yaml", "empty.json", "empty.toml"])
def test_an_empty_file_says_nothing(write: Write, name: str):
    assert Policy.load(write("", name)) == Policy()


def test_a_section_or_tool_with_nothing_after_it_says_nothing_more(write: Write):
    policy = Policy.load(write("request:\ntools:\n  get_stock:\nscenes:\n  sale:\nlanguage:\n"))
    assert policy.target("tool:get_stock").declared
    assert policy.request == Policy().request


def test_aliases_and_merge_keys_are_read(write: Write):
    text = "defaults: &slow {timeout: 9s, core: false}\ntools:\n  a: {<<: *slow, core: true}\n  b: *slow\n"
    policy = Policy.load(write(text))
    assert policy.tools["a"].timeout == policy.tools["b"].timeout == QueryTimeouts(basic=9, complex=9)
    assert (policy.tools["a"].core, policy.tools["b"].core) == (True, False)


def test_a_path_starts_from_the_policys_own_directory(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(json.dumps(STOCK), "conf/schemas/stock.json")
    path = write("tools: {a: {result_schema: schemas/stock.json}}", "conf/degrade.yaml")
    monkeypatch.chdir(tmp_path.parent)
    assert Policy.load(path).tools["a"].result_schema == STOCK


UNREADABLE = [
    ("a: [1\nb: 2\n", "degrade.yaml:2: not readable as YAML"),
    ("tools:\n\ta: 1\n", "degrade.yaml:2: not readable as YAML (found character that cannot start any token); indent"),
    ("tools:\n  a: {}\n  b: {}\n  a: {}\n", "degrade.yaml:4: 'a' stands twice, first on line 2; keep one of them"),
    ("tools: {}\n---\ntools: {}\n", "degrade.yaml:3: a second document begins here"),
    ("tools:\n  1: {}\n", "degrade.yaml:2: the key 1 is not text; put the key in quotes"),
    ("tools:\n  no: {}\n", "degrade.yaml:2: the key False is not text; put the key in quotes"),
    ("? [a]\n: 1\n", "degrade.yaml:1: a key is text, not a list or a mapping"),
    ("tools: *other\n", "degrade.yaml:1: *other stands for nothing yet"),
    ("tools: &a {x: *a}\n", "degrade.yaml:1: *a stands for nothing yet"),
    ("x: 1\n<<: 3\n", "degrade.yaml:2: << merges mappings only"),
    ("x: !!python/object/apply:os.system [true]\n", "is not read; a policy is plain data"),
    ("x: !!python/name:os.system y\n", "is not read; a policy is plain data"),
    ("x: !!set {a}\n", "is not read; a policy is plain data"),
    ("timeouts: {tool: 2025-02-30}\n", "degrade.yaml:1: '2025-02-30' cannot be read (day is out of range for month)"),
    ("timeouts: {tool: " + "9" * 5000 + "}\n", "put it in quotes if it is text"),
    ("- a\n", "degrade.yaml:1: ['a'] is not a mapping"),
    ("just text", "degrade.yaml:1: 'just text' is not a mapping"),
    ("a: \0\n", "degrade.yaml: not readable as YAML"),
    ("a: \u2028\u2028\t- [", "degrade.yaml"),
    (b"a: caf\xe9", "degrade.yaml: not UTF-8 at byte 6; save it as UTF-8"),
    (bytes(range(256)), "degrade.yaml: not UTF-8 at byte 128"),
]


@pytest.mark.parametrize(("content", "text"), UNREADABLE)
def test_unreadable_yaml_names_file_line_and_fix(write: Write, content: str | bytes, text: str):
    error = refusal(write(content))
    assert text in str(error)
    assert error.problems[0].fix


UNREADABLE_ELSEWHERE = [
    ("x.json", '{"a": 1,}', "x.json:1: not readable as JSON"),
    ("x.json", '{"tools": {"a": {"core": true, "core": false}}}', "x.json: tools.a.core: stands twice"),
    ("x.json", '{"tools": [{"a": 1, "a": 2}]}', "x.json: tools[0].a: stands twice"),
    ("x.json", '{"timeouts": {"tool": NaN}}', "x.json: NaN is not JSON; write a finite number"),
    ("x.json", '{"timeouts": {"tool": 1e999}}', "timeouts.tool: inf is not a duration"),
    ("x.json", '{"timeouts": {"tool": ' + "9" * 5000 + "}}", "x.json: not readable as JSON"),
    ("x.toml", "a = \n", "x.toml: not readable as TOML (Invalid value (at line 1, column 5))"),
    ("x.toml", "[tools.a]\n[tools.a]\n", "at line 2"),
    ("x.toml", "[timeouts]\ntool = 2025-01-01\n", "timeouts.tool: datetime.date(2025, 1, 1) is not a duration"),
    ("x.ini", "", "x.ini: .ini is not read; name it .yaml, .json or .toml"),
    ("x", "", "x: no suffix is not read"),
]


@pytest.mark.parametrize(("name", "content", "text"), UNREADABLE_ELSEWHERE)
def test_unreadable_json_and_toml_name_file_place_and_fix(write: Write, name: str, content: str, text: str):
    error = refusal(write(content, name))
    assert text in str(error)
    assert error.problems[0].fix


def test_what_is_no_file_is_an_error_and_never_a_wait(tmp_path: Path):
    assert "no such file" in str(refusal(tmp_path / "missing.yaml"))
    assert "no such file" in str(refusal(tmp_path / "na\0me.yaml"))
    assert "cannot be read (File name too long)" in str(refusal(tmp_path / f"{'x' * 300}.yaml"))
    (tmp_path / "folder.yaml").mkdir()
    assert "not a regular file" in str(refusal(tmp_path / "folder.yaml"))
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "not a regular file" in str(refusal(tmp_path / "pipe.yaml"))


def _laughs() -> str:
    rows = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    rows += [f"{new}: &{new} [{', '.join(['*' + old] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
    return "\n".join(rows)


def _merged_laughs() -> str:
    rows = ["a: &a {x: 1, y: 2}"]
    rows += [
        f"{new}: &{new} {{<<: [{', '.join(['*' + old] * 9)}]}}" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join(rows)


def _merged_wide() -> str:
    wide = ", ".join(f"k{index}: 1" for index in range(5000))
    return f"base: &base {{{wide}}}\nx:\n" + "  - {<<: *base}\n" * 5000


BOMBS = [
    ("x.yaml", _laughs(), "values, aliases expanded"),
    ("x.yaml", _merged_laughs(), "unknown key"),
    ("x.yaml", _merged_wide(), "values, aliases expanded"),
    ("x.yaml", "a: " + "[" * 300_000, "nest"),
    ("x.yaml", "".join("  " * depth + "k:\n" for depth in range(200)), "nested deeper than 64 levels"),
    ("x.yaml", "x0: &k0 [1]\n" + "".join(f"x{n}: &k{n} [*k{n - 1}]\n" for n in range(1, 100)), "nested deeper"),
    ("x.yaml", "#" * 1_000_001, "larger than 1000000 bytes"),
    ("x.json", '{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    ("x.json", "[" * 900 + "]" * 900, "is not a mapping"),
    ("x.toml", "a = " + "[" * 300_000, "nested too deeply"),
    ("x.toml", "a." * 100_000 + "a = 1", "a key of more than 64 parts"),
    ("x.toml", "x = {" + "a." * 100_000 + "a = 1}", "a key of more than 64 parts"),
    ("x.toml", '"a b" . ' * 100_000 + "a = 1", "a key of more than 64 parts"),
    ("x.toml", 'x = "' + '\\"' * 200_000, "Unterminated string"),
]


@pytest.mark.parametrize(("name", "content", "text"), BOMBS, ids=range(len(BOMBS)))
def test_a_file_made_to_choke_on_is_refused(write: Write, name: str, content: str, text: str):
    assert text in str(refusal(write(content, name)))


def test_dots_in_a_toml_sentence_are_no_key(write: Write):
    sentence = "Wait. " * 100 + "." * 100
    policy = Policy.load(write(f'[scenes.sale]\nalternative = "{sentence}"\n', "x.toml"))
    assert policy.scenes["sale"].alternative == sentence


@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_policy_loads_or_is_refused_and_nothing_else(write: Write, data: st.DataObject):
    start = data.draw(st.integers(0, len(DOCUMENTED)))
    end = data.draw(st.integers(start, min(start + 40, len(DOCUMENTED))))
    noise = data.draw(st.text(st.sampled_from("{}[]:,&*<!|>'\"#%@`-?~ \t\n\r\u2028\x00a1"), max_size=6))
    write(json.dumps(STOCK), "schemas/stock.json")
    path = write(DOCUMENTED[:start] + noise + DOCUMENTED[end:])
    try:
        Policy.load(path)
    except PolicyError as error:
        refused = str(error)
    else:
        refused = str(path)
    assert refused.startswith(str(path))
