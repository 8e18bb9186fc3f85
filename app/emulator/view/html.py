"""HTML that is escaped unless it was made here, and Markdown without any HTML of its own."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape

from markdown_it import MarkdownIt

from app.emulator.routing import Response

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:70rem;padding:1rem;color:#1f2328;background:#fff}
nav a{margin-right:1.2rem}
a{color:#0550ae}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.25rem .7rem .25rem 0;border-bottom:1px solid #d8dee4}
code,pre{font:13px/1.45 ui-monospace,monospace;background:#f6f8fa}
pre{padding:.6rem;overflow:auto;white-space:pre-wrap}
article{border:1px solid #d8dee4;border-radius:6px;margin:.8rem 0;padding:.2rem .9rem;overflow-wrap:anywhere}
article>header{color:#59636e;border-bottom:1px solid #d8dee4;padding:.3rem 0}
small,.quiet{color:#59636e}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}a{color:#79c0ff}
code,pre{background:#161b22}small,.quiet,article>header{color:#9198a1}th,td,article,article>header{border-color:#30363d}}
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# Whatever slipped through the escaping: nothing is loaded, run, sent or framed.
_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *children: object, **attributes: str) -> Html:
    """An element. Children that are no :class:`Html` are escaped, and so are all attributes."""
    shown = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{shown}>{joined(*children)}</{name}>")


def joined(*children: object) -> Html:
    """Children one after the other; None is nothing."""
    return Html("".join(c if isinstance(c, Html) else escape(str(c)) for c in children if c is not None))


def link(path: str, text: object) -> Html:
    """A link within the view; the path is below its root and quoted already."""
    return tag("a", text, href=f"/_emulator/ui{path}")


def table(heads: list[str], rows: list[list[object]]) -> Html:
    """A table, or a word where there is nothing to show."""
    if not rows:
        return tag("p", "None.", class_="quiet")
    return tag(
        "table",
        tag("thead", tag("tr", *(tag("th", head) for head in heads))),
        tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows)),
    )


def markdown(text: str | None) -> Html:
    """GitHub's everyday Markdown. HTML in it is shown as text, images as links, links that run code as text."""
    if not text:
        return tag("p", "No text.", class_="quiet")
    rendered: str = _parser().render(text)
    return Html(rendered)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def page(title: str, *content: object, status: int = 200) -> Response:
    """A whole page with the headers that keep it harmless."""
    nav = tag(
        "nav",
        link("", "Repositories"),
        link("/deliveries", "Deliveries"),
        link("/requests", "Requests"),
        link("/faults", "Faults"),
    )
    head = tag(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width">'),
        tag("title", f"{title} · emulated GitHub"),
        tag("style", Html(_STYLE)),
    )
    whole = joined(Html("<!doctype html>"), tag("html", head, tag("body", nav, tag("h1", title), *content), lang="en"))
    return Response(status, whole.encode(), dict(_HEADERS))
