"""The table of pages: a row a visit, and what they say together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sitemapreader.audit.database import AuditDatabase, read_queries
from sitemapreader.audit.models import Row, write_literal
from sitemapreader.audit.preparing import judge_hreflang
from sitemapreader.audit.rates import Stratum, estimate_rate
from sitemapreader.pages import HTML_TYPES, PageFacts, PageVisit, page_type_of
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUERIES = read_queries("pages")
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


_ROWS_AT_ONCE = 500
_OF_THE_PAGE = (
    *("title", "is_noindex", "canonical", "canonical_key", "canonicals", "canonical_differs_by"),
    *("refresh_seconds", "refresh_url", "refresh_key", "modified", "text_hash"),
    *("noindex_line", "canonical_line", "refresh_line", "alternate_line"),
)
"""Columns of what a page says of itself."""
_TEMPORARY = frozenset({302, 303, 307})


class PageTable:
    """The rows of visits on their way into the database; `flush` writes the last ones."""

    def __init__(self, database: AuditDatabase, robots: Iterable[str]) -> None:
        self._database = database
        self._robots = tuple(robot.lower() for robot in robots)
        self._pages: list[dict[str, Any]] = []
        self._alternates: list[tuple[str, str, str]] = []

    def add_probe(self, visit: PageVisit) -> None:
        """Add the answer to a made-up path."""
        facts, final = visit.facts, url_key(visit.final_url)
        if visit.not_judged is None and visit.status == 200:
            folder = visit.url[: visit.url.rindex("/") + 1]
            is_moved = final != url_key(visit.url)
            text_hash = facts.text_hash if facts and not is_moved else None  # else a real page's
            row = (url_key(folder), final if is_moved else None, text_hash)
            self._database.insert_rows("probe", [row])

    def add(self, visit: PageVisit) -> None:
        """Add the visit of a page."""
        key, final_key = url_key(visit.url), url_key(visit.final_url)
        kind = page_type_of(visit.headers.get("content-type"))
        statuses = [each.status for each in visit.redirects]
        self._pages.append(
            {
                "loc": visit.url,
                "key": key,
                # a name need not be UTF-8
                "file": visit.file.encode("utf-8", "backslashreplace").decode(),
                "final_url": visit.final_url,
                "final_key": final_key,
                "status": visit.status,
                "error": visit.error,
                "not_judged": visit.not_judged and str(visit.not_judged),
                "statuses": " ".join(map(str, statuses)),
                "is_temporary": bool(statuses) and _TEMPORARY.issuperset(statuses),
                "switches_language": bool(statuses)
                and is_language_switch(visit.url, visit.final_url),
                "leads_to_login": leads_to_login(visit.url, visit.final_url),
                "differs_by": name_difference(key, final_key),
                "seconds": visit.seconds,
                "is_html": visit.facts is not None and kind in HTML_TYPES,
                **self._describe(visit.facts, final_key),
            }
        )
        if visit.facts is not None:
            self._alternates += [
                (key, code, target)
                for code, url in visit.facts.alternates
                if (target := url_key(url)) not in (key, final_key)
            ]
        if len(self._pages) >= _ROWS_AT_ONCE:
            self.flush()

    def _describe(self, facts: PageFacts | None, final_key: str) -> dict[str, Any]:
        """Return the columns of what a page says of itself."""
        if facts is None:
            return dict.fromkeys(_OF_THE_PAGE)
        keys = {url_key(url): url for url in reversed(facts.canonicals)}
        # the first that is another page, or the first
        key = next((each for each in map(url_key, facts.canonicals) if each != final_key), None)
        if key is None and keys:
            key = final_key
        seconds, target = facts.refresh or (None, None)
        noindex = facts.find_noindex(*self._robots)
        line_of = facts.lines.get
        values = (
            *(facts.title, noindex is not None),
            *(key and keys[key], key, len(keys), key and name_difference(final_key, key)),
            *(
                seconds,
                target,
                target and url_key(target),
                facts.modified and facts.modified.replace(tzinfo=None),
            ),
            facts.text_hash,
            *(noindex and line_of(noindex), key and line_of(("canonical", keys[key]))),
            target and line_of(("refresh", target)),
            min(
                (line for (name, _), line in facts.lines.items() if name == "alternate"),
                default=None,
            ),
        )
        return dict(zip(_OF_THE_PAGE, values, strict=True))

    def flush(self) -> None:
        """Write what is left."""
        self._database.insert_dicts("page", self._pages)
        self._database.insert_rows("page_alternate", self._alternates)
        self._pages.clear()
        self._alternates.clear()


# -- what visits say together


def judge_pages(database: AuditDatabase, start: str) -> None:
    """Find what visits say together: gates, silent hosts, faults and fates.

    `start` is the URL of the site.
    """
    database.ask(_QUERIES["define_start"].format(write_literal(url_key(start))))
    for name in (
        *("join_sample", "add_crawled", "join_listed", "mark_gates", "mark_languages"),
        *("mark_refused", "mark_network", "distrust_probes", "find_soft_errors", "find_faults"),
        *("find_fates", "forget_alike"),
    ):
        database.ask(_QUERIES[name])


def describe_doubt(database: AuditDatabase, kind: str = "listed") -> str:
    """Return why the rules about pages cannot be run, or "" if half could be judged."""
    tally = count_pages(database, kind)
    # What was not reached says nothing: any beginning of the visits is a sample.
    if tally is None or 2 * tally.judged >= max(tally.visited, 1):
        return ""
    said = ", ".join(f"{reason} {count}" for reason, count in tally.not_judged.items())
    return f"only {tally.judged} of {tally.visited} pages could be judged ({said})"


def count_pages(database: AuditDatabase, kind: str = "listed") -> Row | None:
    """Return how many "listed" or "old" pages were visited; `None` if none was to be.

    Not all that were visited were judged; `not_judged` says why, and `exact` whether all pages
    were. `bound` is the share of all pages that a fault may have at most which none of them has.
    """
    query = _QUERIES["tally"].format(f"is_{kind}")
    wanted, visited, judged, reasons = database.ask(query)[0]
    if not wanted:
        return None
    (total,) = database.ask(_QUERIES[kind])[0]
    rate = estimate_rate([Stratum(int(total), judged, 0)])
    is_exact = judged == total
    return Row(
        listed=int(total),
        visited=visited,
        judged=judged,
        not_judged=reasons or {},
        exact=is_exact,
        bound=None if rate is None or is_exact else rate.high,
    )


def count_compared(database: AuditDatabase) -> int:
    """Return how many pages have a text in this audit and in the earlier one."""
    return int(database.ask(_QUERIES["compared"])[0][0])


def count_fates(database: AuditDatabase) -> list[Row]:
    """Return what became of the pages in each folder of the old site."""
    return database.ask_rows(_QUERIES["fates"])
