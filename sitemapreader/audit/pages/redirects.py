"""What a redirect changes in a URL."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from sitemapreader.audit.preparing import judge_hreflang

_LOGIN = re.compile(r"/(?:log-?in|sign-?in|sso|auth|oauth2?)(?=[/.]|$)", re.IGNORECASE)
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
    """Return whether a redirect only adds or swaps a segment that is a language."""
    one, other = urlsplit(url), urlsplit(final)
    if one.netloc.lower() != other.netloc.lower():
        return False
    before = [part for part in one.path.lower().split("/") if part]
    after = [part for part in other.path.lower().split("/") if part]
    for place, segment in enumerate(after):
        if judge_hreflang(segment)[0] and segment != "x-default":
            rest = after[:place] + after[place + 1 :]
            added = rest == before
            swapped = rest == before[:place] + before[place + 1 :] and (
                place < len(before) and judge_hreflang(before[place])[0]
            )
            if added or swapped:
                return True
    return False
