"""A loopback HTTP server that carries out the weather: what the fault board decides happens on the socket."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, Self
from urllib.parse import parse_qsl, urlsplit

from examples.customer_service.faults import Board, Fault

JSON = "application/json; charset=utf-8"
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: the peer sees a reset instead of an orderly end


@dataclass(frozen=True, slots=True)
class Request:
    """One request as a service sees it, header names in lower case; `visit` names the customer's turn."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Any = None
    visit: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """One response: a JSON value, or text that is sent as it stands (an event stream)."""

    body: Any
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def encoded(self) -> bytes:
        """Return the bytes that go over the wire."""
        text = self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False)
        return text.encode()


class Service(Protocol):
    """What stands behind the board: the shop, or a model endpoint."""

    def name(self, request: Request) -> str:
        """Say which dependency this request goes to, for the weather."""
        ...

    def asked(self, request: Request) -> str:
        """Say what is asked of it, in the same words whichever agent asks."""
        ...

    def handle(self, request: Request) -> Reply:
        """Answer the request."""
        ...

    def empty(self, request: Request) -> Reply:
        """Answer as a gateway does that cannot reach the service and says "ok" all the same: no data."""
        ...


class Server:
    """Serves several services under their prefixes, each request through the board, until closed.

    Example:
        >>> with Server({"/shop": shop}, board) as server:  # doctest: +SKIP
        ...     httpx.get(server.url + "/shop/orders/DD1003")
    """

    def __init__(self, services: Mapping[str, Service], board: Board) -> None:
        self._http = _HTTPServer(services, board)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.closing.set()
        self._http.shutdown()
        self._http.server_close()


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a hanging request must not hold up the end of the day
    request_queue_size = 64

    def __init__(self, services: Mapping[str, Service], board: Board) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.services = services
        self.board = board
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that give up in the middle are what this server is for."""


class _Handler(BaseHTTPRequestHandler):
    server: _HTTPServer  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60  # seconds an idle keep-alive connection is kept

    def _serve(self) -> None:
        url = urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        for prefix, service in self.server.services.items():
            if url.path.startswith(prefix):
                path, query = url.path.removeprefix(prefix), dict(parse_qsl(url.query))
                headers = {name.lower(): value for name, value in self.headers.items()}
                visit = self.server.board.visit.label
                self._weather(service, Request(self.command, path, query, headers, body, visit))
                return
        self._send(Reply({"detail": "no such service"}, 404))

    do_GET = do_POST = _serve  # noqa: N815 - the names http.server looks up

    def _weather(self, service: Service, request: Request) -> None:
        with self.server.board.call(service.name(request), service.asked(request)) as (fault, entry):
            reply = service.handle(request) if fault is None or fault.executes else None
            entry.executed = reply is not None
            if fault is None and reply is not None:
                entry.status = reply.status
                self._send(reply)
            elif fault is not None:
                self._suffer(fault, reply, service.empty(request))
                entry.status = fault.status

    def _suffer(self, fault: Fault, reply: Reply | None, empty: Reply) -> None:
        self.server.closing.wait(fault.seconds)
        if fault.kind in {"reset", "hang"}:
            self._drop()
        elif fault.kind == "null":
            self._send(empty)
        elif reply is None:
            headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            self._send(Reply({"detail": fault.kind}, fault.status or 503, headers=headers))
        else:
            self._send(reply, cut=fault.kind == "cut")

    def _send(self, reply: Reply, *, cut: bool = False) -> None:
        content = reply.encoded()
        content = content[: len(content) * 2 // 3] if cut else content
        self.send_response(reply.status)
        for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the terminal for the report."""
