"""R1: six stages and any number of scenes, each cell with its own policy, merged from weak to strong."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from langgraph_degrade.errors import PolicyError
from langgraph_degrade.policy import (
    BreakerRule,
    CachePolicy,
    EnvelopePolicy,
    Policy,
    QueryTimeouts,
    RequestPolicy,
    Stage,
    TargetPolicy,
    TimeoutsPolicy,
)

pytestmark = pytest.mark.row("R1")

LAYERS: list[tuple[str, dict[str, Any]]] = [
    ("defaults", {"defaults": {"max_abandoned": 1}}),
    ("stage", {"stages": {"execute": {"max_abandoned": 2}}}),
    ("scene", {"scenes": {"sale": {"max_abandoned": 3}}}),
    ("scene's stage", {"scenes": {"sale": {"max_abandoned": 3, "stages": {"execute": {"max_abandoned": 4}}}}}),
    ("entry", {"tools": {"get_stock": {"max_abandoned": 5}}}),
]


@pytest.mark.parametrize("strongest", range(len(LAYERS)))
def test_a_stronger_layer_overrides_all_weaker_ones(strongest: int):
    written: dict[str, Any] = {}
    for _, layer in LAYERS[: strongest + 1]:
        written |= layer
    cell = Policy.model_validate(written).target("tool:get_stock", scene="sale")
    assert cell.max_abandoned == strongest + 1


def test_a_layer_overrides_only_what_it_writes():
    policy = Policy.model_validate(
        {
            "defaults": {"priority": "low", "core": False},
            "scenes": {"sale": {"priority": "high"}},
            "tools": {"get_stock": {"scene": "sale", "idempotent": True}},
        }
    )
    cell = policy.target("tool:get_stock")
    assert (cell.priority, cell.core, cell.idempotent) == ("high", False, True)


def test_writing_the_built_in_value_overrides_too():
    policy = Policy.model_validate({"defaults": {"core": False}, "tools": {"a": {"core": True}, "b": {}}})
    assert policy.target("tool:a").core
    assert not policy.target("tool:b").core


def test_null_switches_off_what_a_weaker_layer_gives():
    policy = Policy.model_validate({"defaults": {"cache": {"ttl": 60}}, "tools": {"a": {"cache": None}, "b": {}}})
    assert policy.target("tool:a").cache is None
    assert policy.target("tool:b").cache == CachePolicy(ttl=60)


def test_a_mapping_is_overridden_whole_so_a_scope_never_outlives_its_cache():
    policy = Policy.model_validate(
        {"defaults": {"cache": {"ttl": 60, "scope": "shared"}}, "tools": {"a": {"cache": {"ttl": "30s"}}}}
    )
    assert policy.target("tool:a").cache == CachePolicy(ttl=30, scope=None)


@pytest.mark.parametrize("stage", get_args(Stage))
def test_each_of_the_six_stages_has_its_own_cell(stage: Stage):
    policy = Policy.model_validate({"stages": {stage: {"timeout": "7s"}}})
    cells = {each: policy.target("node:x", stage=each).timeout for each in get_args(Stage)}
    assert cells.pop(stage) == QueryTimeouts(basic=7, complex=7)
    assert set(cells.values()) == {None}


def test_a_cell_is_stage_times_scene():
    policy = Policy.model_validate(
        {"scenes": {"sale": {"stages": {"plan": {"ladder": ["function"]}}}, "query": {"ladder": ["model"]}}}
    )
    assert policy.target("node:plan", stage="plan", scene="sale").ladder == ("function",)
    assert policy.target("node:plan", stage="plan", scene="query").ladder == ("model",)
    assert policy.target("node:plan", stage="answer", scene="sale").ladder == ("params", "data", "function")


def test_a_tool_belongs_to_its_scene_unless_the_request_names_another():
    policy = Policy.model_validate(
        {"scenes": {"sale": {"priority": "high"}, "query": {"priority": "low"}}, "tools": {"a": {"scene": "sale"}}}
    )
    assert (policy.target("tool:a").priority, policy.target("tool:a").scene) == ("high", "sale")
    assert (policy.target("tool:a", scene="query").priority, policy.target("tool:a", scene="query").scene) == (
        "low",
        "query",
    )


def test_a_scene_that_is_nowhere_described_changes_nothing():
    policy = Policy.model_validate({"tools": {"a": {"scene": "unknown"}}})
    assert policy.target("tool:a").scene == "unknown"
    assert policy.target("tool:a").ladder == TargetPolicy().ladder


@pytest.mark.parametrize("effect", ["read", "write"])
def test_a_scenes_effect_holds_for_its_tools(effect: str):
    policy = Policy.model_validate({"scenes": {"s": {"effect": effect}}, "tools": {"a": {"scene": "s"}, "b": {}}})
    assert policy.target("tool:a").effect == effect
    assert policy.target("tool:b").effect is None


def test_a_tools_own_effect_is_stronger_than_its_scenes():
    policy = Policy.model_validate(
        {"scenes": {"s": {"effect": "write"}}, "tools": {"a": {"scene": "s", "effect": "read"}}}
    )
    assert policy.target("tool:a").effect == "read"


def test_an_undeclared_tool_is_taken_as_a_write_without_retry_cache_or_timeout():
    cell = Policy().target("tool:anything")
    assert (cell.declared, cell.effect, cell.idempotent, cell.cache, cell.read_through) == (
        False,
        None,
        False,
        None,
        None,
    )
    assert cell.timeout is None


def test_shared_layers_never_make_an_undeclared_tool_a_read():
    written = {
        "effect": "read",
        "idempotent": True,
        "cache": {"ttl": 60},
        "read_through": {"ttl": 60},
        "priority": "low",
    }
    policy = Policy.model_validate({"defaults": written, "tools": {"mine": {}}})
    cell = policy.target("tool:refund")
    assert (cell.effect, cell.idempotent, cell.cache, cell.read_through) == (None, False, None, None)
    assert cell.priority == "low"
    assert policy.target("tool:mine").effect == "read"
    assert policy.target("node:plan").effect == "read"


def test_a_shared_read_through_cache_never_stands_before_a_write():
    policy = Policy.model_validate(
        {"defaults": {"read_through": {"ttl": 60}}, "tools": {"a": {"effect": "write"}, "b": {}}}
    )
    assert policy.target("tool:a").read_through is None
    assert policy.target("tool:b").read_through is None


@pytest.mark.row("T3")
def test_a_declared_tool_gets_the_tool_tier_and_nothing_else_does():
    policy = Policy.model_validate({"timeouts": {"tool": "4s"}, "tools": {"a": {}}, "targets": {"b": {}}})
    assert policy.target("tool:a").timeout == QueryTimeouts(basic=4, complex=4)
    assert policy.target("b").timeout is None
    assert policy.target("tool:c").timeout is None


@pytest.mark.row("T3")
def test_a_timeout_written_in_any_layer_is_explicit():
    policy = Policy.model_validate(
        {"stages": {"execute": {"timeout": "9s"}}, "tools": {"a": {}, "b": {"timeout": None}}}
    )
    assert policy.target("tool:a").timeout == QueryTimeouts(basic=9, complex=9)
    assert policy.target("tool:b").timeout is None


@pytest.mark.row("T3")
def test_the_three_tiers_have_the_documents_defaults():
    assert TimeoutsPolicy() == TimeoutsPolicy(tool=3, session="auto", user=240)


@pytest.mark.row("T2")
def test_the_budget_has_the_documents_defaults():
    assert RequestPolicy() == RequestPolicy(retries=3, retry_time=8, max_depth=3)


@pytest.mark.row("T6")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("5s", QueryTimeouts(basic=5, complex=5)),
        (5, QueryTimeouts(basic=5, complex=5)),
        ({"basic": "3s", "complex": "10s"}, QueryTimeouts(basic=3, complex=10)),
        ({"complex_when": ["deep"]}, QueryTimeouts(basic=3, complex=10, complex_when=("deep",))),
        ("none", QueryTimeouts(basic=None, complex=None)),
        ({"basic": "3s", "complex": "none"}, QueryTimeouts(basic=3, complex=None)),
    ],
)
def test_queries_have_two_classes_and_none_is_no_limit(written: object, read: QueryTimeouts):
    assert Policy.model_validate({"tools": {"a": {"timeout": written}}}).target("tool:a").timeout == read


@pytest.mark.row("T6")
@pytest.mark.parametrize("written", [{"basic": "20s"}, {"basic": "none"}, {"basic": 5, "complex": 3}])
def test_a_complex_query_never_gets_less_time_than_a_basic_one(written: object):
    with pytest.raises(PolicyError, match="less than basic ones"):
        Policy.model_validate({"tools": {"a": {"timeout": written}}})


def test_targets_are_found_with_and_without_their_prefix():
    policy = Policy.model_validate({"targets": {"plan": {"max_abandoned": 1}, "saver:main": {"max_abandoned": 2}}})
    assert policy.target("plan").max_abandoned == 1
    assert policy.target("node:plan").max_abandoned == 1
    assert policy.target("saver:main").max_abandoned == 2
    assert not policy.target("main").declared
    assert not policy.target("tool:plan").declared


def test_the_built_in_cell_is_the_documented_one():
    cell = TargetPolicy()
    assert cell.breakers == (BreakerRule(),)
    assert cell.ladder == ("params", "data", "function")
    assert cell.max_abandoned == 32
    assert BreakerRule().model_dump() == {
        "kind": "each",
        "window": 60.0,
        "rate": 0.3,
        "consecutive": 3,
        "errors": 20,
        "error_rate": 0.05,
        "min_calls": 10,
        "open_for": 30.0,
        "ramp": 30.0,
        "probes": 3,
    }
    assert EnvelopePolicy().success == (0, "0", 200, "200", "00000", True, "success", "ok")


def test_texts_that_are_errors_are_told_by_their_patterns():
    written = {"tools": {"a": {"text_errors": {"^Error 5..": "server_error", "(?i)no such order": "not_found"}}}}
    assert Policy.model_validate(written).target("tool:a").text_errors == written["tools"]["a"]["text_errors"]


def test_handoff_may_be_written_and_need_not():
    policy = Policy.model_validate({"tools": {"a": {"ladder": ["data", "handoff"]}, "b": {"ladder": []}}})
    assert policy.target("tool:a").ladder == ("data", "handoff")
    assert policy.target("tool:b").ladder == ()


def test_answers_are_regenerated_as_often_as_their_stage_says():
    policy = Policy.model_validate({"scenes": {"s": {"stages": {"answer": {"regenerate": 0}}}}})
    assert policy.target("node:answer", stage="answer").regenerate == 1
    assert policy.target("node:answer", stage="answer", scene="s").regenerate == 0


def test_a_policy_is_a_value():
    written = {
        "tools": {"a": {"effect": "read", "params": {"set": {"sizes": [1]}}, "result_schema": {"type": "object"}}}
    }
    one, two = Policy.model_validate(written), Policy.model_validate(written)
    assert one == two
    assert hash(one) == hash(two)
    assert one.target("tool:a") == two.target("tool:a")
    assert len({one.target("tool:a"), two.target("tool:a")}) == 1
    assert one != Policy()


def test_a_policy_never_changes():
    policy = Policy.model_validate({"tools": {"a": {}}})
    with pytest.raises(ValidationError, match="frozen"):
        policy.language = "en"  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot be changed"):
        policy.tools["b"] = policy.tools["a"]  # type: ignore[index]


def test_what_was_passed_in_may_change_without_changing_the_policy():
    sizes, schema = [1], {"type": "object", "required": ["a"]}
    policy = Policy.model_validate({"tools": {"a": {"params": {"set": {"sizes": sizes}}, "result_schema": schema}}})
    sizes.append(2)
    schema["required"] = []
    cell = policy.target("tool:a")
    assert cell.params
    assert cell.params.set == {"sizes": [1]}
    assert cell.result_schema == {"type": "object", "required": ["a"]}


def test_a_policy_survives_being_written_down():
    policy = Policy.model_validate(
        {"tools": {"a": {"cache": {"ttl": "30s", "scope": ["user_id"]}, "capacity": "60/m", "timeout": "none"}}}
    )
    assert Policy.model_validate_json(policy.model_dump_json(exclude_unset=True)) == policy


def test_a_cell_can_be_changed_in_a_copy_by_what_a_tool_says_about_itself():
    cell = Policy().target("tool:a").model_copy(update={"effect": "read"})
    assert (cell.effect, cell.timeout) == ("read", None)
