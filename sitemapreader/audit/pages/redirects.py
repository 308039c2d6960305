"""What a redirect changes in a URL."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from sitemapreader.audit.preparing import judge_hreflang

_LOGIN = re.compile(r"/(?:log-?in|sign-?in|sso|auth|oauth2?)(?=[/.]|$)", re.IGNORECASE)
_PART = re.compile(r"[^./?&]+")
_FORMS = {
    "https": lambda text: text.partition("://")[2],
    "www": lambda text: text.replace("://www.", "://", 1),
    "slash": lambda text: text.rstrip("/"),
    "case": str.lower,
}
"""Name of a difference -> what takes it out of a key."""


def name_difference(key: str, other: str) -> str:
    """Return by what alone two keys differ: "https", "www", "slash", "case", or ""."""
    if key == other:
        return ""
    return next((name for name, form in _FORMS.items() if form(key) == form(other)), "")


def leads_to_login(url: str, final: str) -> bool:
    """Return whether only the second path has a segment such as login."""
    return bool(_LOGIN.search(urlsplit(final).path)) and not _LOGIN.search(urlsplit(url).path)


def is_language_switch(url: str, final: str) -> bool:
    """Return whether a redirect only adds or swaps a part that is a language.

    That is a segment of the path, the value of a parameter, or a label of the host.
    """
    before, after = (_PART.findall(each.lower().partition("://")[2]) for each in (url, final))
    labels = len(urlsplit(url).netloc.split("."))
    for place, part in enumerate(after):
        rest = after[:place] + after[place + 1 :]
        if _is_language(part) and (
            rest == before
            or (
                rest == before[:place] + before[place + 1 :]
                and (place < labels or _is_language(before[place]))
            )
        ):
            return True
    return False


def _is_language(part: str) -> bool:
    code = part.rpartition("=")[2]
    return judge_hreflang(code)[0] and code != "x-default"
