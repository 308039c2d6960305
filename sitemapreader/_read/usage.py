"""Usage preferences: how sites want their content to be used.

Two notations say it, in robots.txt and, for the first, in a header of responses:

- Content-Usage of the IETF (draft-ietf-aipref-attach-05, draft-ietf-aipref-vocab-08);
- Content-Signal of Cloudflare (https://contentsignals.org/).

They are data: nothing here permits or forbids anything, because what a preference means for a
crawler depends on its purpose.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader._read.robots_matcher import RuleMatcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

USAGE_LABELS = ("search", "train-ai")
"""The categories of draft-ietf-aipref-vocab-08; other labels are ignored."""
_CHOICES = {"y": True, "n": False}

# Dictionaries of RFC 9651, section 4.2.2. Possessive quantifiers keep the time linear.
_USAGE_KEY = r"[a-z*][a-z0-9_.*-]*+"
_USAGE_NAME = r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*+"
_ITEMS = (
    r'"(?:[ !#-\[\]-~]|\\["\\])*+"',  # a string
    _USAGE_NAME,  # a token
    r"-?\d{1,12}\.\d{1,3}(?![\d.])",  # a decimal
    r"-?\d{1,15}(?![\d.])",  # an integer
    r":[A-Za-z0-9+/=]*+:",  # bytes
    r"\?[01]",  # a boolean
    r"@-?\d{1,15}(?![\d.])",  # a date
    r'%"(?:[ !#$&-~]|%[0-9a-f]{2})*+"',  # a display string
)
_ITEM = "|".join(_ITEMS)
_PARAMETERS = rf"(?:;\x20*+{_USAGE_KEY}(?:=(?:{_ITEM}))?+)*+"
_LIST = rf"\(\x20*+(?:(?:{_ITEM}){_PARAMETERS}(?:\x20++|(?=\))))*+\)"
_MEMBER = re.compile(rf"({_USAGE_KEY})(?:=({_ITEM}|{_LIST}))?+{_PARAMETERS}", re.ASCII)
_COMMA = re.compile(r"[ \t]*+,[ \t]*+")


def usage_of(headers: Mapping[str, str]) -> dict[str, bool]:
    """Return the preferences in the header Content-Usage: label -> whether the use is wanted.

    Args:
        headers: of a response. Several headers of one name are joined by commas.
    """
    values = [
        value for name, value in headers.items() if name.lower() == "content-usage"
    ]
    return parse_usage(", ".join(values))


def parse_usage(text: str) -> dict[str, bool]:
    """Parse a dictionary of preferences; content never raises.

    A label without a value of `y` or `n` is unknown, and so left out. A text that is not a
    dictionary says nothing. The last of equal labels counts.
    """
    members = _parse_dictionary(text)
    choices = {label: _CHOICES.get(members.get(label, "")) for label in USAGE_LABELS}
    return {label: choice for label, choice in choices.items() if choice is not None}


def _parse_dictionary(text: str) -> dict[str, str]:
    """Return the members of a dictionary as written; none if it is not one."""
    text = text.strip(" ")
    members: dict[str, str] = {}
    position = 0
    while position < len(text):
        member = _MEMBER.match(text, position)
        if member is None:
            return {}
        members[member[1]] = member[2] or "?1"
        if member.end() == len(text):
            break
        comma = _COMMA.match(text, member.end())
        if comma is None or comma.end() == len(text):
            return {}
        position = comma.end()
    return members


def parse_signals(text: str) -> dict[str, str]:
    """Parse a list of signals, such as `search=yes, ai-train=no`; content never raises.

    Names and values are in lower case. What is not a name and a value is left out.
    """
    signals: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals and name.strip() and value.strip():
            signals[name.strip().lower()] = value.strip().lower()
    return signals


def choose_lines(values: Iterable[str], path: str) -> list[str]:
    """Choose the texts of the longest path that matches: a line is `[path SP] text`.

    Args:
        values: lines of a group, without the name of their field.
        path: path and query of a URL, as `normalize_url` writes them.
    """
    chosen: list[str] = []
    longest = -1
    for value in values:
        scope = "/"
        text = value
        if value.startswith("/"):
            scope, _, text = value.partition(" ")
        length = len(scope.encode("utf-8", "surrogatepass"))
        if (
            length < longest
            or RuleMatcher([("disallow", scope)]).find_refusal(path) is None
        ):
            continue
        if length > longest:
            chosen = []
        longest = length
        chosen.append(text)
    return chosen


def combine_usages(usages: Iterable[Mapping[str, bool]]) -> dict[str, bool]:
    """Combine preferences for one resource: any refusal counts, else any permission."""
    combined: dict[str, bool] = {}
    for usage in usages:
        for label, is_wanted in usage.items():
            combined[label] = combined.get(label, True) and is_wanted
    return combined
