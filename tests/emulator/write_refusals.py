"""Writes `docs/emulator-refusals.md` from the table that the tests try."""

from pathlib import Path

from refusal_world import as_markdown

if __name__ == "__main__":
    page = Path(__file__).parents[2] / "docs" / "emulator-refusals.md"
    page.write_text(as_markdown(), encoding="utf-8")
