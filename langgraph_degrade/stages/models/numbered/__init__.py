"""A numbered menu instead of native tool calling, for models that call tools badly (spec M2, L1).

`menu` says what there is to choose, `reply_format` lets a server hold the model to it, `read_reply` turns the reply
into real tool calls, or says as a `Failure` why it is none. Pure functions: no I/O, no clock.
"""

from langgraph_degrade.stages.models.numbered.form import reply_format
from langgraph_degrade.stages.models.numbered.prompt import menu
from langgraph_degrade.stages.models.numbered.reading import read_reply
from langgraph_degrade.stages.models.numbered.samples import Sample

__all__ = ["Sample", "menu", "read_reply", "reply_format"]
