"""JSON that can stand inside a comment: read back by any JSON reader, and inert wherever it stands."""

import json
from typing import Any

_INERT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&`@"}


def embedded_json(value: Any) -> str:
    """JSON on one line, ASCII only, without the characters that could end an HTML comment or a code fence, open a tag
    or mention somebody: inside strings they stand as `\\u003c` and the like, and outside strings JSON has none of them.
    """
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False).translate(
        _INERT
    )
