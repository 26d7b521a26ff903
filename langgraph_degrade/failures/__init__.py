"""What went wrong, as a value: kinds, and the one classifier for everything that can go wrong (spec F1–F3).

Nothing but the standard library is imported: exceptions and answers of other libraries are known by their names.
"""

from langgraph_degrade.failures.classifier import classify
from langgraph_degrade.failures.failure import ANSWERS, BLAMELESS, Failure, Kind
from langgraph_degrade.failures.terms import Envelope, Source
from langgraph_degrade.failures.wire import reset_after, retry_after

__all__ = ["ANSWERS", "BLAMELESS", "Envelope", "Failure", "Kind", "Source", "classify", "reset_after", "retry_after"]
