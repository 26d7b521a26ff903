"""How long a target wants to be left alone, in every form seen on wires."""

from __future__ import annotations

import math
from email.utils import formatdate

import httpx
import httpx2
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from langgraph_degrade.failures import classify, wire
from tests.servers.faults import FaultServer, Reply, json_reply

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def moment() -> float:
    return NOW


@pytest.mark.row("T1")
@pytest.mark.case("case-P10")
@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("2", 2.0),
        ("0", 0.0),
        ("-5", None),
        ("1.5", 1.5),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        (formatdate(NOW + 3, usegmt=True), 3.0),
        ("999999", 999_999.0),
        ("abc", None),
        ("", None),
        ("2, 2", 2.0),
        ("inf", None),
        ("nan", None),
        ("1e9", None),
        ("٣", None),
    ],
)
def test_retry_after_is_read_or_left_but_never_guessed(value: str, wait: float | None):
    assert wire.retry_after({"retry-after": value}, moment) == wait


@pytest.mark.case("case-P10")
def test_milliseconds_win_over_seconds():
    assert wire.retry_after({"retry-after-ms": "1500", "retry-after": "9"}, moment) == 1.5
    assert wire.retry_after({"retry-after-ms": "soon", "retry-after": "9"}, moment) == 9.0


@pytest.mark.case("case-P10")
@pytest.mark.parametrize("client", [httpx, httpx2, requests], ids=lambda client: client.__name__)
@pytest.mark.parametrize(
    ("headers", "wait"),
    [({"Retry-After": "2"}, 2.0), ({"RETRY-AFTER-MS": "1500"}, 1.5), ({"retry-after": "-5"}, None), ({}, None)],
)
def test_headers_are_found_in_any_spelling(client: object, headers: dict[str, str], wait: float | None):
    with FaultServer(Reply(429, headers)) as server:
        failure = classify(client.get(server.url, timeout=10))  # type: ignore[attr-defined]
    assert failure is not None
    assert (failure.kind, failure.retry_after) == ("rate_limit", wait)


@pytest.mark.case("case-P10")
def test_a_date_is_measured_against_the_date_the_answer_was_sent():
    """Both by the target's clock: ours may be minutes off."""
    headers = {"Retry-After": formatdate(NOW + 30, usegmt=True), "Date": formatdate(NOW, usegmt=True)}
    failure = classify(httpx.Response(503, headers=headers), now=NOW + 1000)
    assert failure is not None
    assert failure.retry_after == 30.0


@pytest.mark.case("case-P10")
def test_without_that_date_the_callers_time_is_used():
    failure = classify(httpx.Response(503, headers={"Retry-After": formatdate(NOW + 30, usegmt=True)}), now=NOW)
    assert failure is not None
    assert failure.retry_after == 30.0


def test_without_any_clock_given_the_machines_is_asked():
    past = classify(httpx.Response(503, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}))
    far = classify(httpx.Response(503, headers={"Retry-After": "Wed, 21 Oct 2145 07:28:00 GMT"}))
    assert past is not None
    assert far is not None
    assert (past.retry_after, far.retry_after) == (0.0, wire.LONGEST)


@pytest.mark.row("T1")
@pytest.mark.case("case-P11")
@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("1m30s", 90.0),
        ("6m0s", 360.0),
        ("250ms", 0.25),
        ("42", 42.0),
        (str(int(NOW) - 60), 0.0),
        (str(int(NOW) + 30), 30.0),
        (str((int(NOW) + 30) * 1000), 30.0),
        ("2026-01-01T00:01:04Z", 64.0),
        ("2025-03-03T11:16:04Z", 0.0),
        ("1h2m3s", 3723.0),
        ("7.66s", 7.66),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_reset_values_tell_their_unit_themselves(value: str, wait: float | None):
    assert wire.reset_after({"x-ratelimit-reset": value}, moment) == wait


@pytest.mark.case("case-P11")
@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "149984",
            },
            1.0,
        ),
        (
            {"anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:20Z", "anthropic-ratelimit-tokens-remaining": "0"},
            20.0,
        ),
        ({"x-rate-limit-reset": str(int(NOW) + 5)}, 5.0),
        ({"ratelimit": "limit=100, remaining=0, reset=50"}, 50.0),
        ({"ratelimit": '"burst";r=0;t=7'}, 7.0),
        ({"ratelimit": "limit=100, remaining=9, reset=50"}, None),
        ({"x-reset": "9"}, None),
    ],
)
def test_only_the_exhausted_limit_is_waited_for(headers: dict[str, str], wait: float | None):
    assert wire.reset_after(headers, moment) == wait


def test_a_reset_header_on_a_fault_that_is_no_limit_says_nothing():
    """GitHub and OpenAI send them with every answer."""
    failure = classify(httpx.Response(500, headers={"x-ratelimit-reset": "42"}))
    assert failure is not None
    assert failure.retry_after is None


@pytest.mark.row("T1")
@pytest.mark.case("case-P05")
@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("token rate limit of current tier exceeded. Please retry after 86400 seconds.", 86_400.0),
        ("Rate limit reached. Please try again in 20s.", 20.0),
        ("Please try again in 1m30.5s. Visit https://example.com", 90.5),
        ("Please try again in 6ms.", 0.006),
        ("Please retry in 34.074824224s.", 34.074824224),
        ("Too Many Requests: retry after 30", 30.0),
        ("wait 5 minutes before the next call", 300.0),
        ("Please wait for about 2 hours", 7200.0),
        ("请求过于频繁，请在 30 秒后重试", 30.0),
        ("请5分钟后再试", 300.0),
        ("请等待60秒", 60.0),
        ("已达到使用上限，您的限额将在 2026-01-01 08:00:30 重置", 30.0),
        ("quota resets at 2026-01-01T00:00:10Z", 10.0),
        ("Model is busy, try again later", None),
        ("retry after 3 attempts", None),
        ("delivered 3 days after the order", None),
    ],
)
def test_a_wait_is_read_out_of_the_message(text: str, wait: float | None):
    assert wire.wait_in(text, moment) == (None if wait is None else pytest.approx(wait))


@pytest.mark.case("case-P05")
def test_a_day_long_wait_is_told_as_it_is():
    """Not to be slept on, not to be shortened: the target is closed that long for everybody (spec T1)."""
    body = {"error": {"code": "429", "message": "token rate limit exceeded. Please retry after 86400 seconds."}}
    with FaultServer(json_reply(body, 429)) as server:
        failure = classify(httpx.get(server.url))
    assert failure is not None
    assert (failure.kind, failure.retry_after, failure.status) == ("rate_limit", 86_400.0, 429)


def test_headers_go_before_bodies_and_bodies_before_texts():
    body = {"error": {"message": "retry after 9 seconds", "code": 429}, "retry_after": 7}
    with_header = classify(httpx.Response(429, headers={"retry-after": "5"}, json=body))
    without = classify(httpx.Response(429, json=body))
    assert with_header is not None
    assert without is not None
    assert (with_header.retry_after, without.retry_after) == (5.0, 7.0)


@given(st.one_of(st.text(max_size=40), st.floats(), st.integers(), st.dates().map(str), st.datetimes().map(str)))
def test_no_value_is_too_strange_and_no_wait_is_negative(value: object):
    wait = wire.seconds(value, moment)
    assert wait is None or (math.isfinite(wait) and 0 <= wait <= wire.LONGEST)


@given(st.text(max_size=200))
def test_no_text_is_too_strange(text: str):
    wait = wire.wait_in(text, moment)
    assert wait is None or 0 <= wait <= wire.LONGEST
