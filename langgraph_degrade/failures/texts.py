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
    r"|\b(?i:pwd|pin|otp|jwt|sig|x[_-]auth(?:[_-]token)?|\w*secret_access_key)[\"']?\s?[=:]\s?[\"']?[^\s\"',;&]{4,}"
    r"|\b(?i:key)=[^\s\"',;&]{8,}"
)
_BLANK: Final = r"[\s\x00-\x1f\x7f\u200b\ufeff]+"
_SURROGATE: Final = r"[\ud800-\udfff]"

_PHRASES: Final[Mapping[Kind, str]] = {
    "timeout": r"""(?ix)^(?:the\ )?(?:request|read|connection|connect|gateway|upstream|operation|call|server)?\ ?(?:timed?[ -]?out)\.?$
        | \b(?:read|connect(?:ion)?|request|gateway|operation|query)\ timed\ out\b | \bdeadline\ exceeded\b
        | \btimed\ out\ (?:after|while|waiting|contacting|connecting|calling|reaching|reading|talking|during)\b
        | \btime-?out\ (?:contacting|connecting|calling|reaching|reading|waiting|talking|while|after|from|during|when
            |occurred|exceeded|reached|expired|error)\b
        | (?<!session)(?<!login)(?<!cart)(?<!order)(?<!reservation)\ timed\ out\W*$
        | \b(?:Read|Connect|Pool|Write)Timeout(?:Error)?\b | \bE(?:SOCKET)?TIMEDOUT\b
        | \b(?:read|connect|connection|request|response|gateway|upstream|network|socket|lock\ wait)\ time-?out\b
        | (?<!订单|登录|登陆|会话)超时(?!未|关闭|取消|失效|过期|自动)""",
    "connection": r"""(?ix)\bconnection\ (?:(?:was|is|has\ been|got|unexpectedly|forcibly)\ ){0,3}
            (?:refused|reset|aborted|closed|error|failed|lost|dropped|broken|interrupted|terminated)\b
        | \b(?:lost|dropped|broken)\ (?:the\ )?connection\b | \bremote\ end\ closed\b | \bbroken\ pipe\b
        | \b(?:could\ not|cannot|can't|unable\ to|failed\ to)\ (?:connect|communicate|establish\ a\ connection)\b
        | \bmax\ retries\ exceeded\b | \bname\ or\ service\ not\ known\b | \bname\ resolution\b
        | \bfailed\ to\ establish\ a\ new\ connection\b | \bno\ route\ to\ host\b | \bserver\ disconnected\b
        | \bE(?:CONNREFUSED|CONNRESET|CONNABORTED|NOTFOUND|HOSTUNREACH|NETUNREACH|PIPE|AI_AGAIN)\b
        | \bserver\ has\ gone\ away\b | \bsocket\ hang\ up\b | \bgetaddrinfo\b
        | 连接(?:已|被|意外|突然)?(?:拒绝|重置|失败|断开|中断|丢失|关闭|异常|错误) | (?:无法|不能)连接 | (?:断开|失去|丢失)连接
        | 网络(?:连接)?(?:异常|错误|故障|中断|波动|抖动|不可达)""",
    "rate_limit": r"""(?ix)^\W*(?:too\ many\ requests|rate\ limit(?:ed|\ exceeded|\ reached)?)\W*(?:$|[.,;:，。])
        | (?:请求|访问|调用|操作)(?:过于|太|过)?频繁 | (?:频率|并发)(?:过高|超限|超出) | 限流""",
    "overloaded": r"""(?ix)^(?:the\ )?(?:system|server|service)\ (?:is\ )?(?:currently\ )?(?:busy|overloaded)\b
        | \bservice\ (?:is\ )?(?:temporarily\ )?unavailable\b | (?:系统|服务器?|网络)繁忙 | 服务暂?(?:时)?不可用""",
    "server_error": r"""(?ix)\binternal\ (?:server\ )?error\b | \b(?:database|db|backend|server|upstream)\ (?:is\ )?(?:down|unreachable)\b
        | \bbad\ gateway\b | (?:系统|服务器?|内部|后端)(?:内部)?(?:异常|错误|故障) | 数据库(?:异常|错误|故障)""",
    "unknown": r"""(?ix)\b(?:outcome|result|status|state)\ (?:is\ |was\ )?(?:still\ )?(?:unknown|uncertain|unclear|undetermined)\b
        | \bunknown\ (?:outcome|result|status|state|error)\b | \bpending\b(?!.*\b(?:cannot|can't|must|not\ allowed)\b) | \bin[ -]progress\b
        | \b(?:being\ processed|still\ processing)\b | ^processing\W*$
        | (?:处理|受理|进行|确认|支付|退款)中(?!心|国|断|止|文) | (?:结果|状态|情况)(?:未知|不明|不详) | 未知(?:错误|异常|结果|状态|$)
        | (?:结果|状态)?待确认""",
}
"""`unknown` is a text that says so itself: the outcome is still open."""
_EXECUTING: Final = (
    r"(?s)\s*(?:Error: )?Error executing tool [^\s:：]{1,200}(?: with kwargs .{0,2000}? with error)?\s*[:：]\s*"
)
"""What an MCP server, or a tool node, puts before the text of any exception; often nothing comes after it."""
_NO: Final = (
    r"(?i)\bnot found\b|\bno such\b|\bdoes(?: not|n't) exist\b|\bout of stock\b|\binsufficient\b|\balready\b|\bnot allowed\b"
    r"|\bdeclined\b|\binvalid\b|不存在|未找到|找不到|不足|缺货|售罄|已(?:退款|支付|取消|关闭|发货|存在)|不支持|不允许"
)
_NO_MONEY: Final = (
    r"(?i)credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|account balance|usage limit"
    r"|overdue|in arrears|billing|余额不足|欠费|额度(?:已)?(?:不足|用完|耗尽)"
)
_STATUS: Final = (
    r"(?i)\b([45]\d\d) (?:Client|Server) Error\b|\b(?:Client|Server) error '([45]\d\d)\b"
    r"|\b(?:HTTP(?: status| error)?(?: code)?|status(?:[ _]code)?|error code):? ?([45]\d\d)\b"
    r"|\btoo many ([45]\d\d) error responses\b"
    r"|^\W{0,3}([45]\d\d)[\s:,-]{1,3}(?:Bad Request|Unauthorized|Forbidden|Not Found|Request Time-?out|Conflict"
    r"|Unprocessable|Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)\b"
)


def clean(text: object) -> str:
    """Make a target's message fit to be passed on: no control characters, no secrets, at most `LONGEST` characters."""
    raw = re.sub(_SURROGATE, "\ufffd", str(text)[: 4 * LONGEST])
    tidy = re.sub(_SECRETS, "[redacted]", re.sub(_BLANK, " ", raw).strip())
    return tidy if len(tidy) <= LONGEST else tidy[: LONGEST - 1] + "…"


def phrase_kind(text: str) -> Kind | None:
    """Recognise the set phrases of an error text; None where it could mean anything."""
    inner = without_prefix(text)
    head = (text if inner is None else inner)[: 2 * LONGEST].strip()
    found: Kind | None = next((kind for kind, phrases in _PHRASES.items() if re.search(phrases, head)), None)
    if found or inner is None or re.search(_NO, head):
        return found
    return "unknown"  # any exception may stand behind the prefix: what says nothing is no "no" of the tool's


def kind_told(text: str) -> Kind:
    """Name the kind of a text that is known to be an error: other words are a "no", no words leave everything open."""
    return phrase_kind(text) or ("business" if text.strip() else "unknown")


def without_prefix(text: str) -> str | None:
    """Return what stands behind `Error executing tool NAME:`; None where a text doesn't begin so."""
    found = re.match(_EXECUTING, text)
    return text[found.end() :] if found else None


def says_no_money(text: str) -> bool:
    """Recognise what providers write when an account is empty; to be asked only where that changes no retry."""
    return re.search(_NO_MONEY, text[: 2 * LONGEST]) is not None


def status_in(text: str) -> int | None:
    """Read the HTTP status out of an error text written by an HTTP client."""
    found = re.search(_STATUS, text[: 2 * LONGEST])
    return int(next(filter(None, found.groups()))) if found else None
