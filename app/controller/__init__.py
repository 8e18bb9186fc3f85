"""The one loop: poke, observe, decide, journal, act, settle, project."""
