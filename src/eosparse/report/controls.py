"""Control characters as text: in a terminal they would move the cursor, recolour or hide text."""

from __future__ import annotations

import re

# Controls of ASCII and of Latin-1, marks that turn the direction of text, line and paragraph
# separators, and halves of characters, which cannot be printed at all.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def show_controls(text: str, keep: str = "") -> str:
    r"""Return text whose control characters are visible, except for those to keep.

    Examples
    --------
    >>> print(show_controls("height\x1b[31m"))
    height\x1b[31m
    """
    return _CONTROLS.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def _escape(character: str) -> str:
    """Return a character as Python writes it, also one that Python would print."""
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def escape_in_json(text: str) -> str:
    r"""Return JSON whose strings hold no control characters as such; line ends of layout stay.

    Examples
    --------
    >>> escape_in_json('"\x9b"')
    '"\\u009b"'
    """
    return _CONTROLS.sub(
        lambda found: found[0] if found[0] in "\n" else f"\\u{ord(found[0]):04x}", text
    )
