"""Exception classes and what they mean: data, and the look-up by name.

Classes are recognised by the first part of their module and their name, so that nothing has to be imported (or installed)
to be understood. A fault has the same words whichever library raised it (spec F2).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from langgraph_degrade.failures.failure import Kind


class Fault(NamedTuple):
    """What a class of exceptions means."""

    kind: Kind
    reason: str
    unsent: bool = False
    """The request certainly never reached the target."""
    general: bool = False
    """Its cause knows better, where it has one."""


TOOLS_OWN_WORDS: Final = Fault("business", "said by the tool", general=True)
"""A class that says nothing: its text is what an MCP server answered, whatever went wrong there."""
_ROOTS: Final[Mapping[str, str]] = {
    "httpx2": "httpx", "httpcore": "httpx", "httpcore2": "httpx", "h11": "httpx", "pydantic_core": "pydantic",
    "jsonschema_rs": "jsonschema", "simplejson": "json", "orjson": "json", "psycopg_pool": "psycopg",
    "psycopg2": "psycopg", "asyncpg": "psycopg", "langchain_core": "langchain", "langchain_openai": "langchain",
    "langgraph": "langchain", "anthropic": "openai", "groq": "openai", "cerebras": "openai", "zhipuai": "openai",
    "zai": "openai", "volcenginesdkarkruntime": "openai", "langgraph_sdk": "openai", "litellm": "openai",
    "concurrent": "asyncio", "MySQLdb": "pymysql", "aiomysql": "pymysql", "exceptiongroup": "builtins",
    "mcp_types": "mcp",
}  # fmt: skip
"""Packages whose classes are named, and mean, like another's."""

_ROWS: Final[tuple[tuple[Fault, str], ...]] = (
    # -- time ------------------------------------------------------------------------------------------------
    (Fault("timeout", "connect timeout", unsent=True), """
        httpx.ConnectTimeout requests.ConnectTimeout urllib3.ConnectTimeoutError aiohttp.ConnectionTimeoutError
        botocore.ConnectTimeoutError psycopg.ConnectionTimeout"""),
    (Fault("timeout", "pool timeout", unsent=True), """
        httpx.PoolTimeout urllib3.EmptyPoolError psycopg.PoolTimeout sqlalchemy.TimeoutError"""),
    (Fault("timeout", "read timeout"), """
        httpx.ReadTimeout requests.ReadTimeout urllib3.ReadTimeoutError aiohttp.SocketTimeoutError
        botocore.ReadTimeoutError"""),
    (Fault("timeout", "write timeout"), "httpx.WriteTimeout"),
    (Fault("timeout", "timeout", general=True), """
        openai.APITimeoutError openai.Timeout langchain.ModelTimeoutError requests.Timeout redis.TimeoutError
        elasticsearch.ConnectionTimeout elastic_transport.ConnectionTimeout"""),
    (Fault("timeout", "timeout"), """
        builtins.TimeoutError httpx.TimeoutException urllib3.TimeoutError aiohttp.ServerTimeoutError
        langchain.NodeTimeoutError asyncio.TimeoutError huggingface_hub.InferenceTimeoutError trio.TooSlowError
        google.DeadlineExceeded psycopg.QueryCanceled"""),
    # -- the way there and back ------------------------------------------------------------------------------
    (Fault("connection", "name not resolved", unsent=True), """
        socket.gaierror socket.herror urllib3.NameResolutionError aiohttp.ClientConnectorDNSError"""),
    (Fault("connection", "connection refused", unsent=True), "builtins.ConnectionRefusedError"),
    (Fault("connection", "connection reset"), """
        builtins.ConnectionResetError builtins.ConnectionAbortedError builtins.BrokenPipeError
        aiohttp.ClientConnectionResetError"""),
    (Fault("connection", "tls", unsent=True), """
        ssl.SSLError requests.SSLError urllib3.SSLError aiohttp.ClientSSLError aiohttp.ClientConnectorSSLError
        aiohttp.ClientConnectorCertificateError aiohttp.ServerFingerprintMismatch"""),
    (Fault("connection", "proxy", unsent=True, general=True), """
        httpx.ProxyError requests.ProxyError urllib3.ProxyError aiohttp.ClientProxyConnectionError"""),
    (Fault("connection", "no connection", unsent=True, general=True), """
        httpx.ConnectError urllib3.NewConnectionError aiohttp.ClientConnectorError botocore.EndpointConnectionError
        anyio.ConnectionFailed psycopg.PoolClosed"""),
    (Fault("connection", "connection lost"), """
        httpx.RemoteProtocolError httpx.CloseError requests.ChunkedEncodingError urllib3.IncompleteRead
        urllib3.InvalidChunkLength aiohttp.ServerDisconnectedError aiohttp.PayloadEncodingError
        http.IncompleteRead http.RemoteDisconnected http.BadStatusLine asyncio.IncompleteReadError
        anyio.BrokenResourceError anyio.ClosedResourceError anyio.EndOfStream anyio.IncompleteRead
        builtins.EOFError websockets.ConnectionClosed openai.WebSocketConnectionClosedError
        langgraph_degrade.IncompleteStream botocore.ConnectionClosedError"""),
    (Fault("connection", "connection lost", general=True), """
        httpx.NetworkError httpx.ReadError httpx.WriteError httpx.ProtocolError httpx.TransportError
        requests.ConnectionError requests.RetryError urllib3.MaxRetryError urllib3.ProtocolError urllib.URLError
        urllib.ContentTooShortError aiohttp.ClientConnectionError aiohttp.ClientPayloadError openai.APIConnectionError
        langchain.ModelConnectionError redis.ConnectionError builtins.ConnectionError psycopg.OperationalError
        psycopg.InterfaceError pymysql.OperationalError pymysql.InterfaceError elastic_transport.ConnectionError
        elasticsearch.ConnectionError kafka.KafkaConnectionError amqp.ConnectionError pymongo.ConnectionFailure
        botocore.HTTPClientError"""),
    # -- what came is no good --------------------------------------------------------------------------------
    (Fault("schema", "not json"), "json.JSONDecodeError requests.InvalidJSONError httpx.JSONDecodeError"),
    (Fault("schema", "not decodable"), """
        builtins.UnicodeError httpx.DecodingError requests.ContentDecodingError urllib3.DecodeError zlib.error
        gzip.BadGzipFile aiohttp.ContentEncodingError binascii.Error"""),
    (Fault("schema", "not the expected content type"), "aiohttp.ContentTypeError"),
    (Fault("schema", "breaks its schema"), """
        pydantic.ValidationError jsonschema.ValidationError langgraph_degrade.ToolSchemaError
        langchain.StructuredOutputValidationError langchain.MultipleStructuredOutputsError msgspec.ValidationError
        marshmallow.ValidationError openai.APIResponseValidationError"""),
    (Fault("schema", "unusable answer", general=True), """
        langchain.OutputParserException openai.LengthFinishReasonError builtins.ValueError xml.ParseError
        yaml.YAMLError tomllib.TOMLDecodeError"""),
    # -- the target says no ----------------------------------------------------------------------------------
    (Fault("rate_limit", "rate limit"), "langchain.ModelRateLimitError openai.RateLimitError google.ResourceExhausted"),
    (Fault("overloaded", "overloaded"), """
        redis.BusyLoadingError redis.OutOfMemoryError redis.ClusterDownError redis.TryAgainError
        redis.MaxConnectionsError redis.LockError psycopg.TooManyRequests queue.Full anyio.WouldBlock
        openai.WebSocketQueueFullError google.ServiceUnavailable openai.ServiceUnavailableError"""),
    (Fault("server_error", "server error"), """
        langchain.ModelAPIError openai.InternalServerError openai.APIError redis.RedisError psycopg.InternalError"""),
    (Fault("auth", "not authorised"), """
        langchain.ModelAuthenticationError langchain.ModelPermissionDeniedError openai.AuthenticationError
        openai.PermissionDeniedError redis.AuthenticationError redis.AuthorizationError redis.NoPermissionError
        redis.ExternalAuthProviderError builtins.PermissionError botocore.NoCredentialsError
        botocore.PartialCredentialsError google.RefreshError google.DefaultCredentialsError"""),
    (Fault("bad_request", "invalid request"), """
        langchain.ModelInvalidRequestError openai.BadRequestError redis.DataError psycopg.DataError
        psycopg.ProgrammingError pymysql.ProgrammingError pymysql.DataError"""),
    (Fault("bad_request", "invalid address", unsent=True), """
        httpx.UnsupportedProtocol httpx.InvalidURL httpx.LocalProtocolError requests.InvalidURL requests.MissingSchema
        requests.InvalidSchema requests.InvalidHeader requests.URLRequired urllib3.LocationValueError aiohttp.InvalidURL
        aiohttp.NonHttpUrlClientError"""),
    (Fault("incompatible", "redirects in circles"), """
        httpx.TooManyRedirects requests.TooManyRedirects aiohttp.TooManyRedirects"""),
    (Fault("not_found", "not found"), "langchain.ModelNotFoundError openai.NotFoundError builtins.FileNotFoundError"),
    (Fault("business", "rule of the target"), "psycopg.IntegrityError pymysql.IntegrityError sqlite3.IntegrityError"),
    (TOOLS_OWN_WORDS, "langchain.ToolException"),
    # -- models ----------------------------------------------------------------------------------------------
    (Fault("context_overflow", "context window"), "langchain.ContextOverflowError openai.ContextWindowExceededError"),
    (Fault("content_filter", "content filter"), """
        openai.ContentFilterFinishReasonError openai.ContentPolicyViolationError"""),
    (Fault("refusal", "refusal"), "langchain.ModelRefusalError langchain.OpenAIRefusalError"),
    (Fault("malformed_call", "invalid arguments"), "langchain.ToolInvocationError"),
    # -- not the target's fault ------------------------------------------------------------------------------
    (Fault("cancelled", "cancelled"), """
        asyncio.CancelledError builtins.KeyboardInterrupt builtins.SystemExit builtins.GeneratorExit
        langchain.NodeCancelledError trio.Cancelled anyio.TaskCancelled anyio.FutureCancelled"""),
    (Fault("open", "circuit open"), """
        langgraph_degrade.CircuitOpen pybreaker.CircuitBreakerError circuitbreaker.CircuitBreakerError
        aiobreaker.CircuitBreakerError purgatory.OpenedState"""),
    (Fault("budget", "budget spent"), """
        langgraph_degrade.BudgetSpent langchain.GraphRecursionError langchain.ModelCallLimitExceededError
        langchain.ToolCallLimitExceededError"""),
    (Fault("deadline", "deadline exceeded"), "langgraph_degrade.DeadlineExceeded"),
    (Fault("shed", "refused here"), "langgraph_degrade.Overloaded"),
    (Fault("unknown", "outcome unknown"), "langgraph_degrade.UnknownOutcome"),
)  # fmt: skip

_FAULTS: Final[Mapping[str, Fault]] = {name: fault for fault, names in _ROWS for name in names.split()}


def fault_of(error: BaseException) -> Fault | None:
    """Look an exception up by its class and its ancestors, nearest first."""
    names = (f"{_root(cls)}.{cls.__name__}" for cls in type(error).__mro__)
    return next((fault for name in names if (fault := _FAULTS.get(name))), None)


def fault_named(name: str) -> Fault | None:
    """Look a bare class name up, as a `repr` shows it; None where libraries use it for different things."""
    found = {fault for key, fault in _FAULTS.items() if key.rpartition(".")[2] == name}
    kinds = {fault.kind for fault in found}
    return next(iter(sorted(found))) if len(kinds) == 1 else None


def roots(error: BaseException) -> frozenset[str]:
    """Name the packages an exception's class and its ancestors come from."""
    return frozenset(map(_root, type(error).__mro__))


def is_a(outcome: object, package: str, names: frozenset[str]) -> bool:
    """Tell whether an object is of one of a package's classes, or of a descendant of one."""
    kind: Any = type(outcome)
    return _is_kind(kind, package, names)


@lru_cache(maxsize=1024)  # a handful of classes pass here, on every call
def _is_kind(kind: type, package: str, names: frozenset[str]) -> bool:
    return any(cls.__name__ in names and _root(cls) == package for cls in kind.__mro__)


def _root(cls: type) -> str:
    root = cls.__module__.partition(".")[0]
    return _ROOTS.get(root, root)
