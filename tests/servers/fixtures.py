"""For tests over a real wire: one server of faults a module, and a real chat model that talks to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_openai import ChatOpenAI

from tests.servers.clients import chat
from tests.servers.faults import FaultServer


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture(scope="module")
def model(server: FaultServer) -> ChatOpenAI:
    return chat(server)
