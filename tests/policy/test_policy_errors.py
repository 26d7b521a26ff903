"""One error for a wrong policy: every problem, with file, line or path, and what would be right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_degrade import texts
from langgraph_degrade.errors import DegradeError, PolicyError
from langgraph_degrade.policy import BreakerRule, CachePolicy, Policy, RequestPolicy, TargetPolicy, TimeoutsPolicy
from langgraph_degrade.policy.check import findings

pytestmark = pytest.mark.row("R1")


def problems(written: Any) -> list[tuple[str, str, str]]:
    with pytest.raises(PolicyError) as caught:
        Policy.model_validate(written)
    return [(problem.place, problem.what, problem.fix) for problem in caught.value.problems]


def test_a_problem_names_file_line_place_and_fix(tmp_path: Path):
    path = tmp_path / "degrade.yaml"
    path.write_text("tools:\n  get_stock:\n    effect: read\n    tiemout: 3s\n")
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert str(caught.value) == f"{path}:4: tools.get_stock.tiemout: unknown key; did you mean 'timeout'?"
    assert caught.value.problems[0].line == 4


def test_json_and_toml_name_the_path_instead_of_a_line(tmp_path: Path):
    path = tmp_path / "degrade.toml"
    path.write_text("[tools.get_stock]\ntiemout = 3\n")
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert str(caught.value) == f"{path}: tools.get_stock.tiemout: unknown key; did you mean 'timeout'?"


def test_all_problems_are_told_at_once_in_the_files_order(tmp_path: Path):
    path = tmp_path / "degrade.yaml"
    path.write_text("language: fr\ntimeouts:\n  tool: 3 sec\ntools:\n  a:\n    capacity: fast\n    core: 1\n")
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert str(caught.value).splitlines() == [
        f"{path}: 4 problems",
        f"  {path}:1: language: 'fr' is not known here; write one of auto, en, zh",
        f"  {path}:3: timeouts.tool: '3 sec' is not a duration; did you mean 3s?",
        f"  {path}:6: tools.a.capacity: 'fast' is not a rate; write calls per time, such as 100/s or 6000/m",
        f"  {path}:7: tools.a.core: 1 is not yes or no; write true or false, without quotes",
    ]


def test_a_flood_of_problems_is_cut_and_counted():
    with pytest.raises(PolicyError) as caught:
        Policy.model_validate({"tools": {f"tool{index}": {"core": "x"} for index in range(50)}})
    assert str(caught.value).endswith("and 30 more")
    assert len(caught.value.problems) == 50


def test_a_line_is_found_inside_flow_style_and_lists(tmp_path: Path):
    path = tmp_path / "degrade.yaml"
    path.write_text("tools:\n  a:\n    breakers:\n      - {window: 60s}\n      - {rate: 0.3,\n         probes: 0}\n")
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert str(caught.value) == f"{path}:6: tools.a.breakers[1].probes: 0 is too small; write 1 or more"


def test_written_in_code_the_place_is_named_too():
    with pytest.raises(PolicyError) as caught:
        Policy(tools={"a": {"effect": "reed"}})  # type: ignore[dict-item]
    assert str(caught.value) == "policy: tools.a.effect: 'reed' is not known here; did you mean 'read'?"


def test_a_wrong_policy_is_one_of_our_errors_and_hides_no_other():
    with pytest.raises(DegradeError) as caught:
        Policy.model_validate({"toolz": {}})
    assert caught.value.__context__ is None


UNKNOWN = [
    ({"toolz": {}}, "toolz", "did you mean 'tools'?"),
    ({"retries": 3}, "retries", "it belongs under 'request'"),
    ({"session": "30s"}, "session", "it belongs under 'timeouts'"),
    ({"ladder": ["data"]}, "ladder", "it belongs under 'defaults'"),
    ({"tools": {"a": {"retries": 3}}}, "tools.a.retries", "it belongs under 'request'"),
    ({"tools": {"a": {"xyzzy": 1}}}, "tools.a.xyzzy", "write one of alternative, breakers"),
    ({"tools": {"cache": {"tll": 1}}}, "tools.cache.tll", "write one of"),
    ({"tools": {"a": {"cache": {"ttl": 1, "max_size": 1}}}}, "tools.a.cache.max_size", "max_entries"),
    ({"tools": {"a": {"breakers": [{"widnow": 1}]}}}, "tools.a.breakers[0].widnow", "did you mean 'window'?"),
    ({"scenes": {"s": {"stages": {"plan": {"timeot": 1}}}}}, "scenes.s.stages.plan.timeot", "did you mean 'timeout'?"),
    ({"models": {"probe": {"evry": 1}}}, "models.probe.evry", "did you mean 'every'?"),
    ({"stages": {"anser": {}}}, "stages.anser", "did you mean 'answer'?"),
    ({"scenes": {"s": {"stages": {"exec": {}}}}}, "scenes.s.stages.exec", "did you mean 'execute'?"),
    ({"tools": {"a b": {"x": 1}}}, 'tools."a b".x', "write one of"),
]


@pytest.mark.parametrize(("written", "place", "fix"), UNKNOWN, ids=[place for _, place, _ in UNKNOWN])
def test_an_unknown_key_is_placed_and_a_near_or_better_one_named(written: Any, place: str, fix: str):
    [(found, _, suggested)] = problems(written)
    assert found == place
    assert fix in suggested


def tool(**settings: Any) -> dict[str, Any]:
    return {"tools": {"a": settings}}


WRONG = [
    ({"request": {"retries": True}}, "request.retries", "a number such as 3"),
    ({"request": {"retries": "3"}}, "request.retries", "a number such as 3"),
    ({"request": {"retries": 2.5}}, "request.retries", "a number such as 3"),
    ({"request": {"retries": -1}}, "request.retries", "write 0 or more"),
    ({"request": {"max_depth": 0}}, "request.max_depth", "write 1 or more"),
    ({"request": 3}, "request", "`key: value` pairs"),
    ({"timeouts": {"tool": 0}}, "timeouts.tool", "above 0"),
    ({"timeouts": {"session": "automatic"}}, "timeouts.session", "such as 3s"),
    ({"timeouts": {"user": float("nan")}}, "timeouts.user", "a number and a unit"),
    ({"tools": ["a"]}, "tools", "`key: value` pairs"),
    ({"tools": {"": {}}}, 'tools.""', "leave the key out"),
    ({"models": {"probe": {"switch_below": 0}}}, "models.probe.switch_below", "above 0"),
    ({"handoff": {"sink": ""}}, "handoff.sink", "leave the key out"),
    (tool(effect="reads"), "tools.a.effect", "did you mean 'read'?"),
    (tool(core="yes"), "tools.a.core", "true or false"),
    (tool(timeout="3 sec"), "tools.a.timeout", "did you mean 3s?"),
    (tool(timeout=-3), "tools.a.timeout", "from 0"),
    (tool(timeout={"basic": "3m s"}), "tools.a.timeout.basic", "one unit of"),
    (tool(timeout={"basic": 0}), "tools.a.timeout.basic", "above 0"),
    (tool(cache={"scope": ["u"]}), "tools.a.cache.ttl", "ttl: 30s"),
    (tool(cache={"ttl": 0}), "tools.a.cache.ttl", "above 0"),
    (tool(cache={"ttl": 1, "scope": "user_id"}), "tools.a.cache.scope", "write [user_id], or shared"),
    (tool(cache={"ttl": 1, "scope": []}), "tools.a.cache.scope", "such as [user_id]"),
    (tool(cache={"ttl": 1, "scope": [1]}), "tools.a.cache.scope", "such as [user_id]"),
    (tool(cache={"ttl": 1, "scope": ["shared"]}), "tools.a.cache.scope", "without brackets"),
    (tool(cache={"ttl": 1, "scope": ["u", "u"]}), "tools.a.cache.scope[1]", "keep one"),
    (tool(cache={"ttl": 1, "max_entries": 0}), "tools.a.cache.max_entries", "1 or more"),
    (tool(ladder="handoff"), "tools.a.ladder", "write a list, such as ['handoff']"),
    (tool(ladder=["data", "data"]), "tools.a.ladder[1]", "keep one"),
    (tool(ladder=["handoff", "data"]), "tools.a.ladder", "put it last"),
    (tool(ladder=["cache"]), "tools.a.ladder[0]", "write one of chain, data"),
    (tool(params={"drop": "page"}), "tools.a.params.drop", "write a list"),
    (tool(params={"set": {"at": float("inf")}}), "tools.a.params.set", "a finite number"),
    (tool(params={"set": {1: 2}}), "tools.a.params.set", "quotes"),
    (tool(endpoints=["x", "x"]), "tools.a.endpoints[1]", "keep one"),
    (tool(endpoints=["x", "a"]), "tools.a.endpoints", "name others after it"),
    (tool(verify=""), "tools.a.verify", "leave the key out"),
    (tool(priority="urgent"), "tools.a.priority", "write one of high, low, normal"),
    (tool(capacity="100"), "tools.a.capacity", "such as 100/s"),
    (tool(capacity=0), "tools.a.capacity", "above 0"),
    (tool(max_abandoned=0), "tools.a.max_abandoned", "1 or more"),
    (tool(alternative=3), "tools.a.alternative", "write the sentence"),
    (tool(alternative={"fr": "x"}), "tools.a.alternative.fr", "write one of en, zh"),
    (tool(alternative={"en": 1}), "tools.a.alternative.en", "write the sentence"),
    (tool(text_errors={"([": "schema"}), 'tools.a.text_errors."(["', "correct it"),
    (tool(text_errors={"x": "opn"}), "tools.a.text_errors.x", "did you mean 'open'?"),
    (tool(text_errors={"x": "open"}), "tools.a.text_errors.x", "what went wrong there"),
    (tool(envelope={"success": 0}), "tools.a.envelope.success", "write a list"),
    (tool(envelope={"business": [200]}), "tools.a.envelope.business", "one of them"),
    (tool(envelope={"code": 1}), "tools.a.envelope.code", "write text"),
    (tool(breakers=[{"rate": 30}]), "tools.a.breakers[0].rate", "did you mean 0.3?"),
    (tool(breakers=[{"rate": 0}]), "tools.a.breakers[0].rate", "above 0"),
    (tool(breakers=[{"probes": 0}]), "tools.a.breakers[0].probes", "1 or more"),
    (tool(breakers=[{"consecutive": 0}]), "tools.a.breakers[0].consecutive", "1 or more"),
    (tool(breakers=[{"kind": "all"}]), "tools.a.breakers[0].kind", "each"),
    (tool(breakers={"rate": 0.3}), "tools.a.breakers", "write a list"),
    (tool(scene=["x"]), "tools.a.scene", "write text"),
]


@pytest.mark.parametrize(("written", "place", "fix"), WRONG, ids=[f"{place} {fix}" for _, place, fix in WRONG])
def test_a_wrong_value_is_placed_and_a_right_one_shown(written: Any, place: str, fix: str):
    [(found, what, suggested)] = problems(written)
    assert found == place
    assert fix in suggested
    assert what


CONTRADICTIONS = [
    (tool(effect="write", read_through={"ttl": 60}), "tools.a.read_through", "say effect: read"),
    (tool(read_through={"ttl": 60}), "tools.a.read_through", "add effect: read"),
    (tool(effect="read", verify="check"), "tools.a.verify", "say effect: write"),
    (
        {"scenes": {"s": {"effect": "read"}}, "tools": {"a": {"scene": "s", "verify": "check"}}},
        "tools.a.verify",
        "say effect: write",
    ),
    (
        {"scenes": {"s": {"effect": "write", "stages": {"plan": {"effect": "write", "read_through": {"ttl": 1}}}}}},
        "scenes.s.stages.plan.read_through",
        "say effect: read",
    ),
    ({"stages": {"plan": {"regenerate": 2}}}, "stages.plan.regenerate", "move it to stages.answer"),
    ({"tools": {"tool:a": {}}}, 'tools."tool:a"', "write a"),
    ({"targets": {"tool:a": {}}}, 'targets."tool:a"', "move it to tools.a"),
]


@pytest.mark.parametrize(("written", "place", "fix"), CONTRADICTIONS, ids=[place for _, place, _ in CONTRADICTIONS])
def test_what_contradicts_itself_is_refused(written: Any, place: str, fix: str):
    [(found, _, suggested)] = problems(written)
    assert found == place
    assert fix in suggested


def test_the_same_settings_without_the_contradiction_pass():
    policy = Policy.model_validate(
        {
            "scenes": {"s": {"effect": "write"}},
            "stages": {"answer": {"regenerate": 2}},
            "tools": {
                "a": {"scene": "s", "verify": "check"},
                "b": {"effect": "read", "read_through": {"ttl": 1}, "endpoints": ["b", "backup"]},
            },
        }
    )
    assert policy.target("tool:b").read_through


def test_a_wrong_value_is_shown_short():
    [(_, what, _)] = problems(tool(effect="x" * 10_000))
    assert len(what) < 100


def test_own_wording_is_held_against_the_sentences_there_are():
    [(place, _, fix)] = problems({"texts": {"en": {"tool.unavailible": "Down."}}})
    assert (place, fix) == ('texts.en."tool.unavailible"', "did you mean 'tool.unavailable'?")
    assert Policy.model_validate({"texts": {"en": {"ask.open": "Tell me more.", "render.image": "(picture)"}}})
    [(_, _, fix)] = problems({"texts": {"en": {"ask.whatever_comes_to_mind": "?"}}})
    assert fix.startswith("write one of ask.choices, ask.more_choices, ask.name.address")
    assert "tool." not in fix
    [(place, what, fix)] = problems({"texts": {"zh": {"tool.stale": "{when}前的数据"}}})
    assert (place, what) == ('texts.zh."tool.stale"', "{when} is never filled in")
    assert "{age}" in fix
    own = {"en": {"tool.stale": "As of {age} ago."}}
    assert Policy.model_validate({"texts": own}).texts == own
    assert texts.text("tool.stale", "en", Policy.model_validate({"texts": own}).texts, age=42) == "As of 42 s ago."


def test_wording_for_a_language_that_is_not_there_is_refused():
    [(place, _, fix)] = problems({"texts": {"fr": {}}})
    assert (place, fix) == ("texts.fr", "write one of en, zh")


@pytest.mark.parametrize("rubbish", [None, 3, "text", [], b"bytes", {1: 2}, {"tools": {1: {}}}, {None: {}}])
def test_rubbish_is_one_of_our_errors(rubbish: Any):
    with pytest.raises(PolicyError):
        Policy.model_validate(rubbish)


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4) | st.dates()
)
WORDS = ["none", "auto", "shared", "3s", "100/s", "read", "write", "data", "handoff", "answer", "a", "tool:a", "schema"]
KEYS = sorted(
    {
        field
        for part in (Policy, RequestPolicy, TimeoutsPolicy, TargetPolicy, BreakerRule, CachePolicy)
        for field in part.model_fields
    }
)
RUBBISH = st.recursive(
    SCALARS | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS + WORDS), inner, max_size=4),
    max_leaves=12,
)
SHAPED = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.dictionaries(
            st.sampled_from(["a", "tool:a", ""]), st.dictionaries(st.sampled_from(KEYS), RUBBISH, max_size=4)
        ),
        "scenes": st.dictionaries(st.sampled_from(["s", "a"]), RUBBISH, max_size=2),
        "stages": RUBBISH,
        "defaults": st.dictionaries(st.sampled_from(KEYS), RUBBISH, max_size=4),
    },
)


@given(SHAPED | RUBBISH)
@settings(deadline=None)
def test_whatever_is_written_it_is_a_policy_or_a_policy_error_with_places(written: Any):
    policy = _read(written)
    if isinstance(policy, PolicyError):
        assert policy.problems
        assert all(problem.what and problem.fix for problem in policy.problems)
    else:
        assert policy.target("tool:a", stage="answer", scene="s").stage == "answer"
        assert findings(policy)  # there is no hand-off sink at least


def _read(written: Any) -> Policy | PolicyError:
    try:
        return Policy.model_validate(written)
    except PolicyError as error:
        return error
