"""What a log may hold of an error: where it happened, never what it says."""

from __future__ import annotations

import traceback


def frames(error: BaseException) -> str:
    """Where it was raised, call by call: no text of the error and no line of source, which may hold secrets."""
    return "\n".join(
        f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
    )
