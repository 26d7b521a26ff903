"""Graceful degradation for LangGraph and LangChain agents."""
