"""Texts: what may be shown of them, and what little may be read out of them.

Set phrases that libraries and gateways write tell a timeout, a lost connection, a busy or broken server from a plain "no".
They never turn what may pass into what is final (no money, no permission): free text is not to decide that (case P02).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from langgraph_degrade.failures.failure import Kind

LONGEST: Final = 500
"""Characters of a target's message that are passed on ○."""

_SECRETS: Final = (
    r"\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][A-Za-z0-9_.-]{20,}|\bAKIA[A-Z0-9]{16}\b|\beyJ[A-Za-z0-9_-]{16,}\.[\w.-]+"
    r"|\b(?i:bearer)\s+\S{16,}"
    r"|(?<=://)[^\s/:@]{1,80}:[^\s/@]{1,80}(?=@)"
    r"|\b(?i:api[_-]?key|access[_-]?token|secret|password|passwd|authorization)\b[\"']?\s*[=:]\s*[\"']?[^\s\"',;&]{8,}"
)
_BLANK: Final = r"[\s\x00-\x1f\x7f\u200b\ufeff]+"
_SURROGATE: Final = r"[\ud800-\udfff]"

_PHRASES: Final[Mapping[Kind, str]] = {
    "timeout": r"""(?ix)^(?:the\ )?(?:request|read|connection|connect|gateway|upstream|operation|call|server)?\ ?(?:timed?[ -]?out)\.?$
        | \b(?:read|connect(?:ion)?|request|gateway|operation|query)\ timed\ out\b | \bdeadline\ exceeded\b
        | \btimed\ out\ (?:after|while|waiting)\b | \b(?:Read|Connect|Pool|Write)Timeout(?:Error)?\b
        | \b(?:read|connect)\ timeout\b | (?:请求|服务|接口|调用|连接|读取|系统|网络|响应)超时""",
    "connection": r"""(?ix)\bconnection\ (?:refused|reset|aborted|closed|error|failed)\b | \bremote\ end\ closed\b
        | \bmax\ retries\ exceeded\b | \bname\ or\ service\ not\ known\b | \bname\ resolution\b
        | \bfailed\ to\ establish\ a\ new\ connection\b | \bno\ route\ to\ host\b | \bserver\ disconnected\b
        | \bE(?:CONNREFUSED|CONNRESET|NOTFOUND|HOSTUNREACH|PIPE)\b | \bsocket\ hang\ up\b | \bgetaddrinfo\b
        | 连接(?:被拒绝|被重置|失败|断开|异常) | 无法连接 | 网络(?:异常|错误|不可达)""",
    "rate_limit": r"""(?ix)^\W*(?:too\ many\ requests|rate\ limit(?:ed|\ exceeded|\ reached)?)\W*(?:$|[.,;:，。])
        | (?:请求|访问|调用|操作)(?:过于|太)频繁 | (?:频率|并发)(?:过高|超限|超出) | 触发限流""",
    "overloaded": r"""(?ix)^(?:the\ )?(?:system|server|service)\ (?:is\ )?(?:currently\ )?(?:busy|overloaded)\b
        | \bservice\ (?:is\ )?(?:temporarily\ )?unavailable\b | (?:系统|服务器?|网络)繁忙 | 服务暂?(?:时)?不可用""",
    "server_error": r"""(?ix)\binternal\ (?:server\ )?error\b | \b(?:database|db|backend|server|upstream)\ (?:is\ )?(?:down|unreachable)\b
        | \bbad\ gateway\b | (?:系统|服务器?|内部|后端)(?:内部)?(?:异常|错误|故障) | 数据库(?:异常|错误|故障)""",
}
_NO_MONEY: Final = (
    r"(?i)credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|account balance|usage limit"
    r"|overdue|in arrears|billing|余额不足|欠费|额度(?:已)?(?:不足|用完|耗尽)"
)
_STATUS: Final = (
    r"(?i)\b([45]\d\d) (?:Client|Server) Error\b|\b(?:Client|Server) error '([45]\d\d)\b"
    r"|\b(?:HTTP(?: status| error)?(?: code)?|status(?:[ _]code)?|error code):? ?([45]\d\d)\b"
    r"|\btoo many ([45]\d\d) error responses\b"
)


def clean(text: object) -> str:
    """Make a target's message fit to be passed on: no control characters, no secrets, at most `LONGEST` characters."""
    raw = re.sub(_SURROGATE, "\ufffd", str(text)[: 4 * LONGEST])
    tidy = re.sub(_SECRETS, "[redacted]", re.sub(_BLANK, " ", raw).strip())
    return tidy if len(tidy) <= LONGEST else tidy[: LONGEST - 1] + "…"


def phrase_kind(text: str) -> Kind | None:
    """Recognise the set phrases of an error text; None where it could mean anything."""
    head = text[: 2 * LONGEST].strip()
    return next((kind for kind, phrases in _PHRASES.items() if re.search(phrases, head)), None)


def says_no_money(text: str) -> bool:
    """Recognise what providers write when an account is empty; to be asked only where that changes no retry."""
    return re.search(_NO_MONEY, text[: 2 * LONGEST]) is not None


def status_in(text: str) -> int | None:
    """Read the HTTP status out of an error text written by an HTTP client."""
    found = re.search(_STATUS, text[: 2 * LONGEST])
    return int(next(filter(None, found.groups()))) if found else None
