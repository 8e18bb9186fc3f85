"""A view for people: pages under ``/_emulator/ui``, made here, without scripts, with everything escaped."""
