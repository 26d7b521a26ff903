"""Bytes made text, text made JSON, with the schema as judge."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from langgraph_degrade.errors import ToolSchemaError
from langgraph_degrade.stages.tools.decoding import MAX_UNZIPPED, NOT_JSON, decode, parse

pytestmark = [pytest.mark.row("F1"), pytest.mark.case("case-X07")]

BODY: dict[str, Any] = {"code": 0, "msg": "系统繁忙", "data": {"状态": "已发货", "amount": 12.5}}
TEXT = json.dumps(BODY, ensure_ascii=False)
GBK, UTF8, NONE = "application/json; charset=gbk", "application/json;charset=UTF-8", None


@pytest.mark.parametrize("declared", [NONE, GBK, UTF8, 'text/json; charset="gb2312"'])
@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "gbk", "gb18030"])
def test_json_is_read_whatever_charset_its_header_claims(charset: str, declared: str | None) -> None:
    assert decode(TEXT.encode(charset), declared) == BODY


@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig"])
def test_utf8_is_told_from_a_single_byte_charset_its_header_claims(charset: str) -> None:
    assert decode(TEXT.encode(charset), "text/json; charset=iso-8859-1") == BODY


def test_the_schema_is_the_judge_between_two_readings() -> None:
    data = TEXT.encode("gbk")
    claimed = "application/json; charset=latin-1"
    assert decode(data, claimed) != BODY  # a single-byte charset accepts any bytes: without a judge its claim stands
    assert decode(data, claimed, judge=lambda value: "状态" in value["data"]) == BODY  # type: ignore[index]


@pytest.mark.parametrize("short", ["联通", "乱码", "中"])
def test_short_chinese_in_its_declared_charset_is_not_taken_for_utf8(short: str) -> None:
    assert decode(json.dumps({"n": short}, ensure_ascii=False).encode("gbk"), GBK) == {"n": short}


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0",
        b"\xff\xfe{\0",
        '{"name": "Éric Élan"}'.encode("latin-1"),
        b"\xff" * 40,
        gzip.compress(TEXT.encode())[:-12],
        b"\x1f\x8b" + b"nonsense",
    ],
)
def test_what_nobody_can_read_fails_and_is_never_guessed(data: bytes) -> None:
    with pytest.raises(ToolSchemaError, match=r"^schema: [a-z ]+ at \$$"):
        decode(data)


def test_latin_text_is_read_where_it_is_declared() -> None:
    assert decode('{"name": "Éric"}'.encode("latin-1"), "text/json; charset=iso-8859-1") == {"name": "Éric"}


@pytest.mark.parametrize("claimed", ["rot13", "hex", "no-such-charset", "x\0y", "undefined", "idna"])
def test_a_header_with_a_charset_that_is_none_is_ignored(claimed: str) -> None:
    assert decode(TEXT.encode(), f"application/json; charset={claimed}") == BODY


def test_a_body_nobody_unzipped_is_unzipped() -> None:
    assert decode(gzip.compress(TEXT.encode())) == BODY


def test_a_body_that_claims_to_be_zipped_and_is_not_is_just_read() -> None:
    assert decode(TEXT.encode(), "application/json") == BODY  # whoever did not unzip it hands over what was sent


def test_a_zip_bomb_is_cut_off() -> None:
    bomb = gzip.compress(b" " * (MAX_UNZIPPED + 1), compresslevel=1)
    with pytest.raises(ToolSchemaError, match="oversized"):
        decode(bomb)


@pytest.mark.parametrize("text", ["订单已发货", "Error: order not found", "", "<html>登录</html>", TEXT[:-4], "{}{}"])
def test_text_that_is_not_json_stays_text(text: str) -> None:
    assert decode(text.encode()) == text


def test_chinese_text_in_gbk_is_read_without_a_header() -> None:
    assert decode("订单已发货，请注意查收".encode("gbk")) == "订单已发货，请注意查收"


def test_a_null_is_json_and_text_is_not() -> None:
    assert parse("null") is None
    assert decode(b"null") is None
    assert parse("nul") is NOT_JSON
    assert parse("\ufeff[1]") == [1]


def test_nesting_beyond_python_itself_is_a_clear_failure() -> None:
    with pytest.raises(ToolSchemaError, match="nested too deeply"):
        parse("[" * 200_000)
