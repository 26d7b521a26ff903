"""A loopback HTTP server that answers exactly what a test scripts: any status, any bytes, any way to end.

Nothing is added to the script but `Connection: close` and a length, so what a client sees is what the test says.

    with FaultServer(Reply(503, {"Retry-After": "2"}), json_reply({"ok": True})) as server:
        httpx.get(server.url)           # 503
        httpx.get(server.url)           # 200, and so is every later one
        server.requests[0].headers      # what was asked
"""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

End = Literal["close", "cut", "reset", "hang"]


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    end: End = "close"
    """What happens after the body: a clean close; `cut`, a close before the length promised; `reset`, a TCP reset, at
    once where there is no body; `hang`, silence until the server stops, from the start where there is no body."""
    drip: float = 0.0
    """Seconds before each piece of the body: an event of a stream, else a byte."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Lower-case names."""
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def json_reply(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Answer JSON; text is sent as it stands, for JSON that Python would not write."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return Reply(status, {"Content-Type": "application/json", **(headers or {})}, text.encode())


def sse(events: Sequence[str | dict[str, Any]], end: Literal["done", "close", "cut", "reset"] = "done") -> Reply:
    """Answer a stream of events, each a whole event or the JSON of a `data:` line; `done` adds `data: [DONE]`."""
    lines = [event if isinstance(event, str) else f"data: {json.dumps(event, ensure_ascii=False)}" for event in events]
    body = "".join(f"{line}\n\n" for line in (*lines, *(["data: [DONE]"] if end == "done" else [])))
    return Reply(200, {"Content-Type": "text/event-stream"}, body.encode(), "close" if end == "done" else end)


class FaultServer:
    """Answers requests in the order of its script, the last reply for ever; logs what came in."""

    def __init__(self, *replies: Reply) -> None:
        self.requests: list[Request] = []
        self._script: list[Reply] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._tcp = _Tcp(("127.0.0.1", 0), _Handler)
        self._tcp.faults = self
        self.script(*replies or (Reply(),))

    @property
    def url(self) -> str:
        host, port = self._tcp.server_address[:2]
        return f"http://{host!s}:{port}"

    def script(self, *replies: Reply) -> Self:
        """Start afresh: these replies, and an empty log."""
        with self._lock:
            self._script = list(replies)
            self.requests = []
        return self

    def __enter__(self) -> Self:
        threading.Thread(target=self._tcp.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._tcp.shutdown()
        self._tcp.server_close()

    def take(self, request: Request) -> Reply:
        """Log a request and choose its reply."""
        with self._lock:
            self.requests.append(request)
            return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def wait(self, seconds: float | None = None) -> bool:
        """Block a hanging reply until the server stops, or so long; True where it stops."""
        return self._stopping.wait(seconds)


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    faults: FaultServer


class _Handler(socketserver.StreamRequestHandler):
    server: _Tcp

    def handle(self) -> None:
        request = self._read()
        if request is None:
            return
        reply = self.server.faults.take(request)
        if reply.body or reply.end in ("close", "cut"):
            self.wfile.write(_head(reply))
            for piece in _pieces(reply):
                if reply.drip and self.server.faults.wait(reply.drip):
                    break
                self.wfile.write(piece)
            self.wfile.flush()
        if reply.end == "hang":
            self.server.faults.wait()
        elif reply.end == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _read(self) -> Request | None:
        words = self.rfile.readline().decode("latin-1").split()
        if len(words) < 2:
            return None
        headers: dict[str, str] = {}
        while (line := self.rfile.readline().decode("latin-1").strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return Request(words[0], words[1], headers, self.rfile.read(int(headers.get("content-length", 0))))


def _pieces(reply: Reply) -> Iterable[bytes]:
    if not reply.drip:
        return [reply.body]
    events = reply.body.split(b"\n\n")
    return [event + b"\n\n" for event in events if event] if len(events) > 1 else [bytes([b]) for b in reply.body]


def _head(reply: Reply) -> bytes:
    headers = {"Connection": "close", **reply.headers}
    if not reply.headers.get("Content-Type", "").startswith("text/event-stream"):
        headers.setdefault("Content-Length", str(len(reply.body) + (100 if reply.end == "cut" else 0)))
    elif reply.end == "cut":
        headers["Content-Length"] = str(len(reply.body) + 100)
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
