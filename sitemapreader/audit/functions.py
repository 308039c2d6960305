"""What SQL cannot say of URLs and languages: functions that queries call."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemapreader.urls import parse_url, url_key

if TYPE_CHECKING:
    from collections.abc import Callable

_FOLDER = "[a-z0-9_~-][a-z0-9_.~-]*"
SIMPLE_URL = rf"^https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+/(?:{_FOLDER}/)*(?:{_FOLDER})?$"
"""Normal URLs in which no rule about characters or parameters can find anything."""

# -- hosts

_STAGING = frozenset({"staging", "stage", "dev", "test", "uat", "preprod"})
_HIDDEN_SUFFIXES = frozenset(
    {"local", "test", "internal", "localhost", "localdomain", "lan", "home", "corp", "invalid"}
)


def judge_host(host: str) -> tuple[str, bool]:
    """Return why nobody can reach a host, or "", and whether its name is the reason."""
    name = re.sub(r":\d+$", "", host)
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        labels = name.rstrip(".").split(".")
        if labels[-1] in _HIDDEN_SUFFIXES or len(labels) == 1:
            return f"{name} is not a public name", False
        if labels[0] in _STAGING and len(labels) > 2:
            return f"{name} is not a production host", True
        return "", False
    return f"{name} is a literal address", False


# -- languages

_NEWS_CHINESE = ("zh-cn", "zh-tw")
_ISO_639_3 = re.compile(r"[a-z]{2,3}")


@cache
def _load_codes() -> tuple[frozenset[str], frozenset[str], frozenset[str], dict[str, str]]:
    """Return languages, scripts and regions, and what is meant by wrong ones."""
    table = tomllib.loads(files(__package__).joinpath("languages.toml").read_text("utf-8"))
    languages, scripts, regions = (
        frozenset(table[name].split()) for name in ("languages", "scripts", "regions")
    )
    return languages, scripts, regions, table["meant"]


def judge_hreflang(code: str) -> tuple[bool, str]:
    """Return whether an hreflang, in lower case, is valid, and a hint if it is not.

    https://developers.google.com/search/docs/specialty/international/localized-versions
    """
    languages, scripts, regions, meant = _load_codes()
    if code == "x-default":
        return True, ""
    language, *others = code.split("-")
    if language not in languages:
        hint = "write a hyphen, not an underscore" if "_" in code else meant.get(language, "")
        return False, hint
    if others and len(others[0]) == 4:
        if others[0] not in scripts:
            return False, f"{others[0]} is not a script of ISO 15924"
        others = others[1:]
    if len(others) > 1:
        return False, "language, script, region, and nothing else"
    if not others or others[0] in regions:
        return True, ""
    return False, meant.get(others[0], f"{others[0]} is not a region of ISO 3166-1")


def is_news_language(code: str) -> bool:
    """Return whether a code, in lower case, is one that Google's news sitemaps take.

    These are the codes of ISO 639-1 and 639-2, and two codes of Chinese.
    """
    if code in _NEWS_CHINESE:
        return True
    languages = _load_codes()[0]
    return _ISO_639_3.fullmatch(code) is not None and (len(code) == 3 or code in languages)


# -- redirects

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


def usable_url(text: str) -> str:
    """Return a URL without blanks around it; "" for what cannot be requested."""
    return text.strip() if parse_url(text.strip()) else ""


FUNCTIONS: dict[Callable[..., object], str] = {
    url_key: "VARCHAR",
    usable_url: "VARCHAR",
    judge_host: "STRUCT(hidden VARCHAR, is_staging BOOLEAN)",
    judge_hreflang: "STRUCT(is_valid BOOLEAN, hint VARCHAR)",
    is_news_language: "BOOLEAN",
    name_difference: "VARCHAR",
    leads_to_login: "BOOLEAN",
    is_language_switch: "BOOLEAN",
}
"""Function -> the type of its value in SQL."""
