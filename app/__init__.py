"""Agent Recovery: work on a ticket survives the agent that did it."""

__version__ = "0.1.0"
