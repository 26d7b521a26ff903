"""A chat model with tools bound to it: asked for a form to answer in as well, it has both (case-F08)."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableBinding


class WithTools(RunnableBinding[LanguageModelInput, AIMessage]):
    """What `TieredChatModel.bind_tools` gives."""

    def with_structured_output(self, schema: Any, **options: Any) -> Runnable[LanguageModelInput, Any]:
        """Answer in this form; the tools bound before go along, for the model to know of.

        Other chat models of LangChain's drop the tools without a word: a binding passes the method on to the bare
        model. The form is what is called, always: a tool is not run by whoever asks for a form.
        """
        model: Any = self.bound
        made: Runnable[LanguageModelInput, Any] = model.beside(self.kwargs["tools"]).with_structured_output(
            schema, **options
        )
        return made
