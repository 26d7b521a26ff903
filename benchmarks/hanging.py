"""What a tool costs that hangs for 30 s: its caller's wait, threads, and the process's exit.

`python -m benchmarks.hanging`. Real time, real threads, a real event loop; nothing is virtual here.
What importing LangChain left is kept from the garbage collector (`gc.freeze`): one full pass over it
stops the whole process for 70 to 170 ms, whatever it is waiting for.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from benchmarks import report
from langgraph_degrade import Degrader, Policy

LIMIT = 0.3
HANG = 30.0
ALLOWED = 0.05
"""Seconds over the timeout (done-when of the backbone issue)."""
CALL = {"type": "tool_call", "id": "c1", "name": "slow", "args": {}}
POLICY = Policy.model_validate(
    {
        "tools": {"slow": {"effect": "read", "timeout": LIMIT, "breakers": [], "max_abandoned": 100}},
        "request": {"retries": 0},
    }
)
EXIT = """
import threading, time
from langgraph_degrade import Degrader, Policy
policy = {"targets": {"slow": {"timeout": "10ms", "breakers": [], "max_abandoned": 100}}}
hang = Degrader(Policy.model_validate(policy)).guard("slow")(lambda: time.sleep(30))
for _ in range(100):
    try: hang()
    except TimeoutError: pass
print(time.time(), threading.active_count(), flush=True)
"""


def sync_tool() -> BaseTool:
    def slow() -> str:
        """Hang."""
        time.sleep(HANG)
        return "late"

    return StructuredTool.from_function(func=slow, name="slow")


def async_tool(cleanup: float) -> BaseTool:
    async def slow() -> str:
        """Hang, then take `cleanup` seconds to be cancelled."""
        try:
            await asyncio.sleep(HANG)
        finally:
            await asyncio.sleep(cleanup)
        return "late"

    return StructuredTool.from_function(coroutine=slow, name="slow")


def waits_sync(calls: int) -> list[float]:
    guarded = Degrader(POLICY).tool(sync_tool())
    return [_over(lambda: guarded.invoke(CALL)) for _ in range(calls)]


def waits_async(tool: BaseTool, calls: int) -> list[float]:
    guarded = Degrader(POLICY).tool(tool)

    async def story() -> list[float]:
        waits = []
        for _ in range(calls):
            began = time.perf_counter()
            await guarded.ainvoke(CALL)
            waits.append(time.perf_counter() - began - LIMIT)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return waits

    return _abandoning(story)


def _abandoning(story: Callable[[], Awaitable[Any]]) -> Any:
    loop = asyncio.new_event_loop()  # closed with its hung tasks in it, as a process that exits would
    try:
        return loop.run_until_complete(story())
    finally:
        loop.set_exception_handler(lambda *_: None)
        loop.close()


def _over(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began - LIMIT


def exit_time() -> tuple[float, int]:
    """Seconds from the last line of a program with 100 hung calls to its end, and its threads."""
    done = subprocess.run([sys.executable, "-c", EXIT], capture_output=True, text=True, check=True)
    ended = time.time()
    last, threads = done.stdout.split()
    return ended - float(last), int(threads)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hanging", description=__doc__)
    parser.add_argument("--calls", type=int, default=20, help="calls of each kind (default: 20)")
    parser.add_argument("--folder", type=Path, default=report.FOLDER, help="where RESULTS.md is (default: here)")
    options = parser.parse_args()
    gc.freeze()
    kinds = {
        "sync": waits_sync(options.calls),
        "async that awaits": waits_async(async_tool(0.0), options.calls),
        "async, 30 s of cleanup": waits_async(async_tool(HANG), options.calls),
    }
    threads = threading.active_count()
    leaves, alive = exit_time()
    rows = [
        (
            kind,
            f"{statistics.median(over) * 1e3:.1f} ms",
            f"{max(over) * 1e3:.1f} ms",
            "ok" if max(over) <= ALLOWED else "OVER",
        )
        for kind, over in kinds.items()
    ]
    text = report.table(("a tool hanging 30 s", "wait beyond its timeout, median", "worst", "50 ms"), rows)
    text += f"\n\n100 hung sync calls: {alive} threads, and the process is gone {leaves:.2f} s after its last line."
    text += "\n\n`gc.freeze()` first: a full pass over what importing LangChain left stops everything for 70 to 170 ms."
    print(text)
    data = {"limit_s": LIMIT, "over_s": kinds, "threads": threads, "exit_s": leaves, "exit_threads": alive}
    report.publish("hanging", "What a hanging tool costs", text, data, folder=options.folder)
    return int(any(max(over) > ALLOWED for over in kinds.values()))


if __name__ == "__main__":
    sys.exit(main())
