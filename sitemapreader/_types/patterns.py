"""Patterns of URLs: regular expressions, and globs such as `/blog/*`."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUERY = re.compile(r"\?(?=[\w.-]+=)")
_STAR = re.compile(r"(?<![^/*])\*|(?<=[\w/=%-])\*$")
"""A star that repeats nothing that anybody would repeat: after a slash, or a letter at the end."""
_ONLY_IN_EXPRESSIONS = frozenset("^$+?()[]{}|\\")
_NOT_IN_GLOBS = frozenset("^$(){}|\\")
_SITE = r"^[^/]*//[^/?#]*"
"""Scheme and host of a URL."""


def is_glob(text: str) -> bool:
    """Return whether a pattern is a glob, and not a regular expression.

    `/blog/*` is both. As an expression it is `/blog` with any number of slashes after it, which
    also finds /blogger/, and nobody means that.
    """
    if text.startswith("*"):
        return not _NOT_IN_GLOBS & set(text.removesuffix("$"))
    plain = _QUERY.sub("", text)
    has_stars = "*" in plain and "*" not in _STAR.sub("", plain)
    return has_stars and not _ONLY_IN_EXPRESSIONS & set(plain)


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a regular expression, or a glob; raise ValueError for neither.

    A glob is for a whole URL if it begins with a star or a scheme; for its path and query if it
    begins with a slash; else for all that follows some slash.
    """
    if is_glob(text):
        if text.startswith("/"):
            start = _SITE
        elif text.startswith("*") or "://" in text:
            start = "^"
        else:
            start = "(?:^|/)"
        body = text.removesuffix("$").replace("**/", "*")  # also for no folder
        text = start + translate(body)
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(_explain(text, error)) from None


def _explain(text: str, error: re.error) -> str:
    """Explain why a text is no pattern, with the correction."""
    if text.startswith("*"):
        odd = sorted(_NOT_IN_GLOBS & set(text))
        return (
            f"{text!r} is not a glob, which cannot have {' '.join(odd)}: leave that out, write "
            "several globs, or a regular expression such as '/blog/.*'"
        )
    return (
        f"{text!r} is not a regular expression ({error}): "
        rf"escape special characters with \, as in {re.escape(text)}"
    )


def is_chosen(
    text: str,
    include: Sequence[re.Pattern[str]],
    exclude: Sequence[re.Pattern[str]],
) -> bool:
    """Return whether a pattern is found in a text, if any are included, and none of the others."""
    if include and not any(pattern.search(text) for pattern in include):
        return False
    return not any(pattern.search(text) for pattern in exclude)


def doubt_pattern(text: str) -> str:
    """Return the doubt about a regular expression that ends as a glob; "" if there is none."""
    if is_glob(text) or not text.endswith("/*"):
        return ""
    return (
        f"{text!r} is a regular expression, in which /* at the end stands for any number of "
        "slashes, or none: write /.* or leave it out"
    )
