"""What a log may hold of an error: where it happened, never what it says."""

from __future__ import annotations

import traceback


def frames(error: BaseException) -> str:
    """The traceback without the error's text, which may hold addresses, tokens and customers' data."""
    return "".join(traceback.format_tb(error.__traceback__))
