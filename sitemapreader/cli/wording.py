"""Messages of the library in words of the shell: one table from arguments to options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sitemapreader.issues import Issue

OPTIONS = {
    "allow_networks": "--allow-network",
    "allow_ports": "--allow-port",
    'extra_formats={"html"}': "--html-sitemap",
    'extra_formats={"llms"}': "--llms",
    "feeds=True": "--feeds",
    "headers": "-u",
    "headers_seconds": "--timeout",
    'hosts="any"': "--hosts any",
    "Limits.depth": "--depth",
    "respect_robots=False": "--no-robots",
    "sitemaps=": "--sitemap",
    "state": "--state",
    "url": "--base-url",
}
"""An argument of the library, as messages name it -> the option that stands for it."""
LIBRARY_ONLY = ("Limits", "min_bytes_per_second")
"""Begin names of what only the library can be asked for."""
_CODE = re.compile(r"`([^`]+)`")


def word_issue(issue: Issue) -> str:
    """Return the message of an Issue, with what was met behind what it means."""
    about = " ".join(part for part in (issue.url, issue.value) if part)
    meaning, advice = (translate(text) for text in (issue.code.meaning, issue.code.advice))
    return f"{meaning}{f' [{about}]' if about else ''}: {advice}"


def translate(text: str) -> str:
    """Return a text with options in the place of arguments."""
    return _CODE.sub(_name_option, text)


def _name_option(match: re.Match[str]) -> str:
    name = match[1]
    if name in OPTIONS:
        return OPTIONS[name]
    if name.startswith(LIBRARY_ONLY):
        return f"{name} (in Python; no option does it)"
    return match[0]
