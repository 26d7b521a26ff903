"""What the nodes of one run did, told by callbacks.

The stream can't tell: what the last step gave is still in its queue when a saver fails over it, and is lost with it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

UNFINISHED = object()


class Result(NamedTuple):
    """What a node returned."""

    task: str
    node: str
    output: Any


class Watch(BaseCallbackHandler):
    """Sees the nodes of the graph it is first called for, not those of graphs within it."""

    run_inline = True

    def __init__(self) -> None:
        self.began = False
        """Some node was entered."""
        self._root: UUID | None = None
        self._step = -1
        self._tasks: dict[str, Result] = {}
        self._runs: dict[UUID, str] = {}
        self._lock = threading.Lock()

    @property
    def results(self) -> list[Result]:
        """Of the latest step, in the order its nodes were entered."""
        with self._lock:
            return [task for task in self._tasks.values() if task.output is not UNFINISHED]

    @property
    def is_quiet(self) -> bool:
        """Every node of the latest step has ended well, retries included: what failed is no node."""
        with self._lock:
            return self.began and all(task.output is not UNFINISHED for task in self._tasks.values())

    def on_chain_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002
        inputs: Any,  # noqa: ARG002
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,  # noqa: ARG002
        metadata: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        with self._lock:
            if self._root is None:
                self._root = run_id
            elif parent_run_id == self._root and metadata and "langgraph_step" in metadata:
                self._enter(run_id, metadata)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        with self._lock:
            task = self._runs.pop(run_id, None)
            if task in self._tasks:
                self._tasks[task] = self._tasks[task]._replace(output=outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        with self._lock:
            self._runs.pop(run_id, None)

    def _enter(self, run: UUID, metadata: Mapping[str, Any]) -> None:
        self.began = True
        if metadata["langgraph_step"] > self._step:  # the steps before are whole, and told
            self._step = metadata["langgraph_step"]
            self._tasks.clear()
        task = str(metadata["langgraph_checkpoint_ns"]).rpartition(":")[2]
        self._runs[run] = task
        self._tasks[task] = Result(task, metadata["langgraph_node"], UNFINISHED)

    @property
    def ignore_llm(self) -> bool:
        return True

    @property
    def ignore_chat_model(self) -> bool:
        return True

    @property
    def ignore_agent(self) -> bool:
        return True

    @property
    def ignore_retriever(self) -> bool:
        return True

    @property
    def ignore_retry(self) -> bool:
        return True

    @property
    def ignore_custom_event(self) -> bool:
        return True
