"""Databases say what went wrong in their own codes: SQLSTATE, SQLite's and MySQL's numbers."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from langgraph_degrade.failures import classes
from langgraph_degrade.failures.failure import Failure, Kind
from langgraph_degrade.failures.verdicts import failed

_SQLSTATE: Final[Mapping[str, Kind]] = {
    "08": "connection",
    "22": "bad_request",
    "23": "business",
    "28": "auth",
    "3D": "not_found",
    "40": "overloaded",  # serialisation failure, deadlock: the server gave way under load
    "42": "incompatible",  # the schema is not the one we were written for
    "42501": "auth",
    "53": "overloaded",
    "55P03": "overloaded",
    "57": "connection",
    "57014": "timeout",  # statement_timeout
    "58": "server_error",
    "XX": "server_error",
}
_SQLITE: Final[Mapping[int, Kind]] = {
    1: "incompatible",  # SQLITE_ERROR: no such table or column, or a syntax of another version
    5: "overloaded",  # BUSY
    6: "overloaded",  # LOCKED
    8: "server_error",  # READONLY
    10: "server_error",  # IOERR
    11: "server_error",  # CORRUPT
    13: "server_error",  # FULL
    14: "connection",  # CANTOPEN
    19: "business",  # CONSTRAINT
    23: "auth",
    26: "server_error",  # NOTADB
}
_MYSQL: Final[Mapping[int, Kind]] = {
    1040: "overloaded", 1044: "auth", 1045: "auth", 1062: "business", 1049: "not_found", 1054: "incompatible",
    1064: "incompatible", 1146: "incompatible", 1203: "overloaded", 1205: "timeout", 1213: "overloaded",
    1451: "business", 1452: "business", 2002: "connection", 2003: "connection", 2005: "connection",
    2006: "connection", 2013: "connection", 3024: "timeout", 4031: "connection",
}  # fmt: skip
_UNREACHABLE: Final = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}
)
_NEVER_CONNECTED_MYSQL: Final = frozenset({2002, 2003, 2005})


def judge_driver(error: BaseException) -> Failure | None:
    """Name the kind by the driver's own code; None where the error has none we know."""
    failure = _by_sqlstate(error) or _by_sqlite(error) or _by_mysql(error) or _by_errno(error)
    # The code is of one statement, and the call that ran it may have done something before.
    return replace(failure, vague=not failure.unsent) if failure else None


def _by_sqlstate(error: BaseException) -> Failure | None:
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if not isinstance(state, str) or len(state) != 5:
        return None
    kind = _SQLSTATE.get(state) or _SQLSTATE.get(state[:2])
    return failed(kind, f"sqlstate {state}", unsent=state == "08001") if kind else None


def _by_sqlite(error: BaseException) -> Failure | None:
    code = getattr(error, "sqlite_errorcode", None)
    kind = _SQLITE.get(code & 0xFF) if isinstance(code, int) else None
    return failed(kind, f"sqlite {code}") if kind else None


def _by_mysql(error: BaseException) -> Failure | None:
    if "pymysql" not in classes.roots(error):
        return None
    code: Any = error.args[0] if error.args else None
    kind = _MYSQL.get(code) if isinstance(code, int) else None
    return failed(kind, f"mysql {code}", unsent=code in _NEVER_CONNECTED_MYSQL) if kind else None


def _by_errno(error: BaseException) -> Failure | None:
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return failed("connection", "network unreachable", unsent=True)
    return None
