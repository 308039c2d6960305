"""Columns and tables that rules need, computed from the rows of the walk.

SQL does what SQL can express; the rest - robots.txt, language codes, hosts - is Python, for the
values that occur, each once.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemapreader.audit.database import AuditDatabase, read_queries
from sitemapreader.audit.models import write_literal
from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode
from sitemapreader.outcomes import Role, Status
from sitemapreader.pages import PageRobots
from sitemapreader.urls import origin_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sitemapreader.fetch import Fetcher
    from sitemapreader.readers.robots import Robots
    from sitemapreader.walker.walks import Walk

MAX_FETCHED = 20
"""Origins whose robots.txt is fetched besides those of the walk: the ones with most URLs."""
_QUERIES = read_queries("preparing")


def list_known_robots(walk: Walk, *, is_http: bool) -> dict[str, Robots]:
    """Return what a walk knows: origin -> its robots.txt, if it was read to its end.

    A server without one allows everything; a folder without one says nothing about the site.
    """
    known = {}
    for document in walk.report.documents:
        if document.role is Role.ROBOTS and (is_http or document.status is Status.COMPLETE):
            robots = walk.robots_of(document.url)
            if robots is not None and robots.complete:
                known[origin_of(document.url)] = robots
    return known


async def fetch_robots(
    database: AuditDatabase, fetcher: Fetcher, known: dict[str, Robots], agent: str
) -> dict[str, Robots]:
    """Return the robots.txt of other origins with URLs or images, unless it fails."""
    fetched: dict[str, Robots] = {}
    rules = PageRobots(fetcher, agent)
    for (origin,) in database.ask(_QUERIES["origins"], limit=MAX_FETCHED + len(known)):
        if origin not in known and len(fetched) < MAX_FETCHED:
            with suppress(FetchError):
                robots = await rules.find(origin)
                if robots.complete:
                    fetched[origin] = robots
    return fetched


def prepare(
    database: AuditDatabase,
    parameters: Mapping[str, object],
    robots: Mapping[str, Robots],
    agents: Iterable[str],
) -> None:
    """Fill the columns and tables that are computed from others.

    `robots` are by origin, those that were read to their end; `agents` are judged by their rules.
    """
    database.ask(_QUERIES["count_urls"], now=parameters["now"])
    extras = [write_literal(parameters[name]) for name in ("tracking", "session")]
    database.ask(_QUERIES["define_extras"].format(*extras))
    for name in (
        *("find_common", "count_news", "fill_zeros"),
        *("find_repeated", "link_languages", "count_folders"),
    ):
        database.ask(_QUERIES[name])
    hosts = database.ask(_QUERIES["count_hosts"])
    database.insert_rows("host", [(*row, *judge_host(row[2])) for row in hosts])
    codes = [code for (code,) in database.ask(_QUERIES["list_languages"])]
    database.insert_rows(
        "language", [(code, *judge_hreflang(code), is_news_language(code)) for code in codes]
    )
    _judge_robots(database, robots, tuple(agents))


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


# -- robots.txt

_ROWS_AT_ONCE = 200_000
_MAX_PIECES = 500
"""A robots.txt with more of them is asked for every URL."""


def _judge_robots(
    database: AuditDatabase, robots: Mapping[str, Robots], agents: tuple[str, ...]
) -> None:
    rows = database.ask(_QUERIES["list_robots"])
    known = {origin for origin, *_ in rows}
    rows += [
        (origin, None, len(each.sitemaps), False)
        for origin, each in robots.items()
        if origin not in known
    ]
    database.insert_rows("robots", rows)
    for origin, each in robots.items():
        database.ask(
            _QUERIES["allow_cross_submits"],
            host=origin.partition("://")[2],
            keys=[url_key(entry.loc) for entry in each.sitemaps],
        )
        for agent in agents:
            refused = _find_disallowed(database, origin, each, agent)
            pages = {each.find_refusal(f"{origin}/{path}", agent) for path in ("", "any/other")}
            if pages == {IssueCode.ROBOTS_DISALLOWED}:
                database.ask(_QUERIES["block_site"], origin=origin, agent=agent, refused=refused)


def _find_disallowed(database: AuditDatabase, origin: str, robots: Robots, agent: str) -> int:
    """Insert the URLs that a robots.txt disallows; return how many pages there are.

    Pieces of the rules find candidates; the rules themselves then judge these.
    """
    pieces = robots.list_disallowed_pieces(agent)
    if not pieces:
        return 0
    # RE2 takes the pieces at once
    words = [""] if len(pieces) > _MAX_PIECES else [re.escape(piece) for piece in pieces]
    scheme, _, host = origin.partition("://")
    passed = {"scheme": scheme, "host": host, "pieces": "|".join(words)}
    last = database.ask(_QUERIES["last_number"])[0][0] or 0
    pages = 0
    for kind in ("url", "image", "sitemap"):
        agent_of_kind = f"{agent}-Image {agent}" if kind == "image" else agent
        for after in range(0, last, _ROWS_AT_ONCE):
            until = after + _ROWS_AT_ONCE
            hits = [
                (agent, kind, loc, document)
                for loc, document in database.ask(
                    _QUERIES[kind], **passed, after=after, until=until
                )
                if robots.find_refusal(loc, agent_of_kind) is IssueCode.ROBOTS_DISALLOWED
            ]
            database.insert_rows("robots_hit", hits)
            pages += len(hits) * (kind == "url")
    return pages
