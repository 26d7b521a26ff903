"""Tool selection: calls a model got wrong, told to it once, found by keywords instead, or asked of the customer (L1).

Everything here is pure: a message and the offered tools in, a message or a verdict out. In order: `mended` takes the
certain repairs, `faults` judges what is left, `as_failure` names it for the ladder, `told` says it to the model once,
`from_keywords` makes the call without a model, `question_for` asks the customer. No step invents a value.
"""

from __future__ import annotations

from langgraph_degrade.stages.selecting.asking import question_for
from langgraph_degrade.stages.selecting.checking import CallFault, What, as_failure, faults
from langgraph_degrade.stages.selecting.keywords import KeywordTemplate, from_keywords
from langgraph_degrade.stages.selecting.mending import mended
from langgraph_degrade.stages.selecting.offers import Parameter
from langgraph_degrade.stages.selecting.telling import told

__all__ = [
    "CallFault",
    "KeywordTemplate",
    "Parameter",
    "What",
    "as_failure",
    "faults",
    "from_keywords",
    "mended",
    "question_for",
    "told",
]
