"""How a route template becomes a path: every value is quoted once, by us, and can never change the route.

`{name}` takes one segment, `{+name}` a ref or branch whose slashes stay (a `#` in a branch name would otherwise start
a fragment and address another, shorter branch).
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

_PLACE = re.compile(r"\{(\+?)([a-z_]+)\}")


def path(template: str, values: Mapping[str, str | int]) -> str:
    """The path of `template`. Raises ValueError for a value that is empty or would climb the path."""

    def fill(match: re.Match[str]) -> str:
        text = str(values[match[2]])
        if not text or any(segment in (".", "..") for segment in text.split("/")):
            raise ValueError(f"{match[2]} cannot stand in a path")
        return quote(text, safe="/" if match[1] else "")

    return _PLACE.sub(fill, template)
