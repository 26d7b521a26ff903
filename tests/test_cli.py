"""The command line: what it prints, and what its exit codes mean."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_degrade.cli import main

CLEAN = "handoff: {sink: tickets}\ntools: {get_stock: {effect: read}}\n"
ODD = "tools:\n  get_stock:\n    effect: read\n    cache: {ttl: 60s}\n"
WRONG = "tools:\n  get_stock:\n    efect: read\n    timeout: 3 sec\n"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "degrade.yaml"


@pytest.mark.parametrize(
    ("content", "options", "code"),
    [
        (CLEAN, [], 0),
        (CLEAN, ["--strict"], 0),
        (ODD, [], 0),
        (ODD, ["--strict"], 1),
        (ODD, ["--strict", "--json"], 1),
        ("handoff: {sink: t}\n" + ODD, ["--strict"], 0),  # a note only
        (WRONG, [], 2),
        (WRONG, ["--strict"], 2),
        (WRONG, ["--json"], 2),
    ],
)
def test_the_exit_code_says_fine_warned_or_wrong(policy: Path, content: str, options: list[str], code: int):
    policy.write_text(content)
    assert main(["check", str(policy), *options]) == code


def test_a_clean_policy_gets_one_line(policy: Path, capsys: pytest.CaptureFixture[str]):
    policy.write_text(CLEAN)
    main(["check", str(policy)])
    assert capsys.readouterr().out == f"{policy}: valid, 0 warnings, 0 notes\n"


def test_remarks_name_file_line_place_reason_fix_and_code(policy: Path, capsys: pytest.CaptureFixture[str]):
    policy.write_text(ODD)
    main(["check", str(policy)])
    warning, note, summary = capsys.readouterr().out.splitlines()
    assert warning.startswith(f"{policy}:1: warning: handoff: ")
    assert warning.endswith("[no-handoff-sink]")
    assert note.startswith(f"{policy}:4: note: tools.get_stock.cache: without a scope")
    assert "; write scope: [user_id], or scope: shared if the data is public [cache-without-scope]" in note
    assert summary == f"{policy}: valid, 1 warning, 1 note"


def test_errors_go_to_stderr_with_every_problem(policy: Path, capsys: pytest.CaptureFixture[str]):
    policy.write_text(WRONG)
    main(["check", str(policy)])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        f"{policy}: 2 problems",
        f"  {policy}:3: tools.get_stock.efect: unknown key; did you mean 'effect'?",
        f"  {policy}:4: tools.get_stock.timeout: '3 sec' is not a duration; did you mean 3s?",
    ]


def test_json_is_one_object_for_machines(policy: Path, capsys: pytest.CaptureFixture[str]):
    policy.write_text(ODD)
    main(["check", str(policy), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["file"], report["errors"]) == (str(policy), [])
    [warning], [note] = report["warnings"], report["notes"]
    assert (warning["code"], warning["place"]) == ("no-handoff-sink", "handoff")
    assert (note["code"], note["place"], note["line"]) == ("cache-without-scope", "tools.get_stock.cache", 4)
    assert note["why"]
    assert note["fix"]


def test_json_tells_errors_the_same_way(policy: Path, capsys: pytest.CaptureFixture[str]):
    policy.write_text(WRONG)
    main(["check", str(policy), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["errors"][0] == {
        "place": "tools.get_stock.efect",
        "what": "unknown key",
        "fix": "did you mean 'effect'?",
        "line": 3,
    }
    assert (report["warnings"], report["notes"]) == ([], [])


def test_a_missing_file_is_an_error_like_any_other(policy: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(policy)]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("level", [[], ["check"]])
def test_help_explains_each_level(level: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main([*level, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert ("exit codes:" in printed) if level else ("find errors and surprises in a policy file" in printed)


@pytest.mark.parametrize("arguments", [[], ["unknown"], ["check"], ["check", "--nope", "x"]])
def test_wrong_usage_is_told_and_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: langgraph-degrade" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "code", "text"),
    [
        ("tools: {查询订单: {effekt: read}}\n", 2, b"did you mean 'effect'?"),
        ("tools: {查询订单: {effect: read, cache: {ttl: 60s}}}\n", 0, b"[cache-without-scope]"),
    ],
)
def test_names_no_terminal_can_show_do_not_stop_it(tmp_path: Path, content: str, code: int, text: bytes):
    path = tmp_path / "策略.yaml"
    path.write_text(content, "utf-8")
    program = "import sys; from langgraph_degrade.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "check", str(path)],
        check=False,
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path), "PYTHONUTF8": "0"},
    )
    assert done.returncode == code
    assert text in done.stdout + done.stderr
