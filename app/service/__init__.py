"""The HTTP face: webhook intake, agent API, settings, start-up."""
