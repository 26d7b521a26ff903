"""Stores: where claims on writes and unfinished items live."""

from __future__ import annotations

from langgraph_degrade.store.memory import MemoryStore
from langgraph_degrade.store.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]
