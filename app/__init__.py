"""Agent Recovery: work on a ticket survives the agent that did it."""
