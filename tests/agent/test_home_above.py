"""A folder of ours above the workspace counts only where nobody else can have put it there."""

from pathlib import Path

import pytest

from app.agent.home import FOLDER, Home


@pytest.mark.parametrize(("mode", "taken"), [(0o700, True), (0o755, True), (0o775, False), (0o777, False)])
def test_a_writable_folder_above_is_not_ours(tmp_path: Path, mode: int, taken: bool) -> None:
    above = tmp_path / FOLDER
    above.mkdir()
    above.chmod(mode)
    inside = tmp_path / "work"
    inside.mkdir()
    assert Home.find(inside).root == (tmp_path if taken else inside).resolve()
