"""Whether text of a comment stands inside HTML that quotes it, shows it as code, strikes it out or folds it away."""

import re

_COMMENT = re.compile(r"<!---?>|<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>blockquote|q|cite|code|pre|samp|kbd|tt|xmp|listing|plaintext|details|template|textarea|"
    r"script|style|title|iframe|noscript|s|strike|del)(?=[\s/>])[^>]*>?",
    re.IGNORECASE,
)


class HtmlAround:
    """Follows the HTML of a comment from its beginning. An element that is never closed goes on to the end of the quote
    or list in which it was opened; so does a comment that never ends.
    """

    def __init__(self) -> None:
        self._elements: list[str] = []
        self._commented = False
        self._outer: list[tuple[list[str], bool]] = []

    @property
    def open(self) -> bool:
        """Whether text here is plainly seen."""
        return not self._elements and not self._commented

    def enter(self) -> None:
        """A quote or the item of a list begins."""
        self._outer.append((list(self._elements), self._commented))

    def leave(self) -> None:
        """It ends, and with it what was opened in it."""
        if self._outer:
            elements, commented = self._outer.pop()
            # What was closed inside stays closed; what was opened inside is closed by the end.
            self._elements = [name for name in elements if name in self._elements]
            self._commented = commented and self._commented

    def html(self, content: str) -> None:
        """Raw HTML of the comment, as a block or within a line."""
        self._commented = self._commented and "-->" not in content
        for tag in _TAG.finditer(_COMMENT.sub(" ", content)):
            name = tag["name"].lower()
            if not tag["end"]:
                self._elements.append(name)
            elif name in self._elements:
                # What was opened inside of it and not closed ends with it.
                last = len(self._elements) - 1 - self._elements[::-1].index(name)
                del self._elements[last:]

    def text(self, content: str) -> None:
        """Text of the comment: where it begins an HTML comment that Markdown does not take for one, what follows does
        not count either.
        """
        for mark in re.findall(r"<!--|-->", content):
            self._commented = mark == "<!--"
