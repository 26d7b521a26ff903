"""The clients people use, pointed at a loopback server: one question, asked through each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import httpx
import httpx2
import requests
import urllib3
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI

from tests.servers.faults import FaultServer

Ask = Callable[[str], Any]
"""Asks a URL and returns what came, or the exception."""


def outcome_of(call: Callable[[], Any]) -> Any:
    """What a call brings: its value, or the exception it raises."""
    try:
        return call()
    except Exception as error:
        return error


def _raised(response: Any) -> Any:
    return outcome_of(response.raise_for_status) if response.status_code >= 400 else response


async def _aiohttp(url: str) -> Any:
    async with aiohttp.ClientSession() as session:
        try:
            async with session.get(url, timeout=aiohttp.ClientTimeout(total=10), raise_for_status=True) as response:
                await response.read()
                return response
        except aiohttp.ClientError as error:
            return error


RESPONSES: Mapping[str, Ask] = {
    "httpx": lambda url: outcome_of(lambda: httpx.get(url, verify=False)),
    "httpx2": lambda url: outcome_of(lambda: httpx2.get(url, verify=False)),
    "requests": lambda url: outcome_of(lambda: requests.get(url, timeout=10)),
    "urllib3": lambda url: outcome_of(lambda: urllib3.request("GET", url, retries=False)),
}
"""Return the response object, whatever its status (case R05)."""

ERRORS: Mapping[str, Ask] = {
    "httpx": lambda url: outcome_of(lambda: _raised(httpx.get(url, verify=False))),
    "httpx2": lambda url: outcome_of(lambda: _raised(httpx2.get(url, verify=False))),
    "requests": lambda url: outcome_of(lambda: _raised(requests.get(url, timeout=10))),
    "aiohttp": lambda url: asyncio.run(_aiohttp(url)),
}
"""Raise for a status that says failure."""

CHATS = ("invoke", "ainvoke", "stream", "astream")


def chat(server: FaultServer) -> ChatOpenAI:
    return ChatOpenAI(model="m", api_key="made-up", base_url=f"{server.url}/v1", max_retries=0, timeout=10)


def ask(model: ChatOpenAI, way: str) -> Any:
    """Ask a chat model in one of `CHATS`; the chunks of a stream are added up, as LangChain does it."""
    return outcome_of(lambda: _ask(model, way))


def _ask(model: ChatOpenAI, way: str) -> Any:
    if way == "invoke":
        return model.invoke("hi")
    if way == "ainvoke":
        return asyncio.run(model.ainvoke("hi"))
    return _sum(list(model.stream("hi")) if way == "stream" else asyncio.run(_collect(model)))


async def _collect(model: ChatOpenAI) -> list[AIMessageChunk]:
    return [chunk async for chunk in model.astream("hi")]


def _sum(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    return chunks[0] + chunks[1:] if len(chunks) > 1 else chunks[0]  # type: ignore[return-value]
