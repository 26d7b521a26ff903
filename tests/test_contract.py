"""The suite's own rules hold: nothing is left out, and rows and cases are the contract's."""

from __future__ import annotations

import pytest


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nmarkers =\n    row(id): a row\n    case(id): a case\n")

    def run(test: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(f"import pytest\n{test}")
        return pytester.runpytest("-p", "tests.contract", *options)

    return run


@pytest.mark.parametrize(
    "test",
    [
        "def test(): pytest.skip('no server here')",
        "@pytest.mark.skipif(True, reason='slow')\ndef test(): ...",
        "pytest.importorskip('no_such_module')",
        "@pytest.mark.xfail\ndef test(): assert False",
        "@pytest.mark.xfail\ndef test(): ...",
    ],
)
def test_leaving_a_test_out_fails_the_run(run, test: str):
    result = run(f"def test_other(): ...\n{test}")
    assert result.ret != pytest.ExitCode.OK


def test_a_whole_run_passes(run):
    assert run("def test(): ...").ret == pytest.ExitCode.OK


@pytest.mark.parametrize("mark", ["row('T10')", "row('t3')", "case('P01')"])
def test_an_unknown_row_or_case_is_refused(run, mark: str):
    result = run(f"@pytest.mark.{mark}\ndef test(): ...")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_rows_read_as_the_state_of_the_contract(run):
    result = run(
        """
        @pytest.mark.row("T3")
        def test_one(): ...

        @pytest.mark.row("T3")
        @pytest.mark.row("B1")
        def test_two(): assert False
        """.replace("        ", ""),
        "-m",
        "row",
    )
    result.stdout.fnmatch_lines(["B1 *0 passed, 1 not", "T2  -", "T3 *1 passed, 1 not"])
