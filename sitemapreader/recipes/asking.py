"""Pages of an index that are asked: what they answer, and what follows from it.

`documents` decides which pages are asked, and when; docs/search-indexes.md has the law.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Literal

import attrs

from sitemapreader.pages import HTML_TYPES, hash_text, page_type_of
from sitemapreader.recipes.crawler import Page
from sitemapreader.urls import origin_of, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sitemapreader import UrlEntry
    from sitemapreader.pages import PageVisit, PageVisitor
    from sitemapreader.state import PageRecord

WEEK = 7 * 86_400.0
"""The longest that a page is left alone that does not answer, or that no sitemap lists."""
_ACCEPT_MARKDOWN = {"Accept": "text/markdown, text/html;q=0.9, */*;q=0.5"}
_LEAST_SHARE = 0.2
"""A Markdown version with a smaller share of the words of its HTML is not the page."""
_GONE = frozenset({404, 410})
_PERMANENT = frozenset({301, 308})


@attrs.frozen
class PageAnswer:
    """What a page answered."""

    visit: PageVisit
    text: str | None
    """What it says; `None` if that has not changed."""
    headers: Mapping[str, str]
    """Of the answer with the text."""
    markdown_url: str | None

    @property
    def is_good(self) -> bool:
        """Whether the page gave its text, or said that this has not changed."""
        return self.visit.not_judged is None and self.visit.status in (200, 304)

    @property
    def is_plain(self) -> bool:
        """Whether it is good, and no HTML: an error page may have the status 200."""
        kind = page_type_of(self.headers.get("content-type"))
        return self.is_good and (self.text is None or kind not in HTML_TYPES)

    @property
    def is_elsewhere(self) -> bool:
        """Whether another page answered in its place."""
        return url_key(self.visit.url) != url_key(self.visit.final_url)

    @property
    def is_moved(self) -> bool:
        """Whether it is elsewhere for good, as far as a fetcher tells."""
        return self.is_elsewhere and all(each.status in _PERMANENT for each in self.visit.redirects)

    @property
    def is_gone(self) -> bool:
        """Whether the server says that there is no such page."""
        return self.visit.not_judged is None and self.visit.status in _GONE

    @property
    def failure(self) -> str:
        """Why it is not good."""
        visit = self.visit
        status = "redirected" if visit.status in (None, 200, 304) else f"http-{visit.status}"
        return str(visit.not_judged or visit.error.partition(":")[0] or status)


@attrs.frozen
class PageAsker:
    """The side of the network: pages, or their versions in Markdown.

    Attributes:
        visitor: visits them.
        extract: returns the text of a page; without it, its main text is taken.
        markdown: whether Markdown is preferred.
    """

    visitor: PageVisitor
    extract: Callable[[Page], str] | None
    markdown: bool

    async def ask(self, record: PageRecord, entry: UrlEntry, *, fresh: bool) -> PageAnswer:
        """Ask a page; with `fresh` all of it is read, so that no validator is sent."""
        headers = {} if fresh else _select_validators(record)
        is_well = record.is_listed and record.failed_at is None
        if self.markdown and record.markdown_url and is_well:
            answer = await self._visit(record.markdown_url, entry, headers, record.markdown_url)
            if answer.is_plain:
                return attrs.evolve(answer, markdown_url=record.markdown_url)
        if record.markdown_url:
            headers = {}  # the validators are another's
        answer = await self._visit(record.url, entry, headers, record.source or record.url)
        answer = attrs.evolve(answer, markdown_url="" if record.markdown_url == "" else None)
        facts = answer.visit.facts
        if not self.markdown or facts is None or facts.markdown is None:
            return answer
        if record.markdown_url == "" or origin_of(facts.markdown) != origin_of(facts.url):
            return attrs.evolve(answer, markdown_url="")
        other = await self._visit(facts.markdown, entry, {}, facts.markdown)
        if not other.is_plain or _count(other.text) < _LEAST_SHARE * _count(answer.text):
            return attrs.evolve(answer, markdown_url="")
        return PageAnswer(answer.visit, other.text, other.headers, facts.markdown)

    async def _visit(
        self, url: str, entry: UrlEntry, headers: Mapping[str, str], known_at: str
    ) -> PageAnswer:
        accept = _ACCEPT_MARKDOWN if self.markdown else {}
        visit = await self.visitor.visit(url, {**accept, **headers})
        if visit.status == 304 and url_key(visit.final_url) != url_key(known_at):
            # An ETag is of one URL (RFC 9110, section 8.8.3): what it leads to now may have it too.
            visit = await self.visitor.visit(url, accept)
        text = visit.facts.text if visit.facts else None
        if self.extract is not None and visit.facts is not None:
            page = Page(entry, visit.final_url, visit.headers, visit.body)
            text = await asyncio.to_thread(self.extract, page)
        return PageAnswer(visit, text, visit.headers, None)


def _select_validators(record: PageRecord) -> dict[str, str]:
    named = {"If-None-Match": record.etag, "If-Modified-Since": record.last_modified}
    return {name: value for name, value in named.items() if value}


def _count(text: str | None) -> int:
    return len((text or "").split())


@attrs.frozen
class Verdict:
    """What follows from an answer: the record, or `None`, and the change."""

    record: PageRecord | None
    kind: Literal["upsert", "delete", "missed", "kept"] = "kept"
    reason: str = ""


@attrs.frozen
class PageLaw:
    """The law by which pages are added, kept and deleted; it asks nobody.

    Attributes:
        day: seconds between two answers that a page is gone, or is elsewhere for the time being.
        unlisted: seconds until a page is asked again that answers, though no sitemap lists it.
        ignore: regular expressions; what they match makes no other text.
    """

    day: float
    unlisted: float
    ignore: tuple[str, ...]

    def judge(
        self, old: PageRecord, answer: PageAnswer, lastmod: str | None, *, is_held_there: bool
    ) -> Verdict:
        """Judge the answer of a page that was `old` and is listed with `lastmod` now.

        `is_held_there` is whether the index has the page that answered in its place.
        """
        now = time.time()
        failed_at = now if old.failed_at is None else old.failed_at
        # An answer that was doubted is looked at again soon.
        next_try = _choose_try(now, failed_at if old.gone_at is None else now)
        failed = attrs.evolve(
            old, lastmod=lastmod, failed_at=failed_at, next_try=next_try, gone_at=None, gone_to=None
        )
        # Two kinds of faults, or two with another answer in between, are not one that lasts.
        gone_to = answer.visit.final_url if answer.is_good else ""
        gone_at = now if old.gone_at is None or old.gone_to != gone_to else old.gone_at
        asked_again = _choose_try(now, gone_at)
        gone = attrs.evolve(failed, gone_at=gone_at, gone_to=gone_to, next_try=asked_again)
        is_sudden = now - gone_at < self.day
        is_held = old.is_listed or old.text_hash is not None
        has_moved = answer.is_good and answer.is_moved and (is_held_there or not old.is_listed)
        if answer.is_gone or has_moved:
            if is_held and is_sudden:
                return Verdict(gone, "missed", answer.failure)
            lost = attrs.evolve(gone, text_hash=None, etag=None, last_modified=None)
            new = attrs.evolve(lost, markdown_url=None) if old.is_listed else None
            return Verdict(new) if old.text_hash is None else Verdict(new, "delete")
        if not answer.is_good:
            return Verdict(failed if is_held else None, "missed", answer.failure)
        is_empty = answer.text is not None and not answer.text.strip()
        if is_empty and old.text_hash:
            return Verdict(failed, "missed", "no-text")
        text_hash = old.text_hash if answer.text is None else hash_text(answer.text, self.ignore)
        is_same = text_hash == old.text_hash
        source = answer.visit.final_url if answer.is_elsewhere else None
        is_lent = answer.is_elsewhere and not answer.is_moved
        is_doubted = (is_sudden or not old.is_listed) and (is_lent or old.text_hash)
        if is_doubted and not is_same and source not in (None, old.source):
            return Verdict(gone, "missed", "redirected")
        record = attrs.evolve(
            old,
            lastmod=lastmod,
            source=source,
            markdown_url=answer.markdown_url,
            checked_at=now,
            failed_at=failed_at if is_lent else None,
            gone_at=None,
            gone_to=None,
            next_try=next_try if is_lent else None if old.is_listed else now + self.unlisted,
        )
        if answer.text is not None:
            etag, date = _read_etag(answer.headers), answer.headers.get("last-modified")
            record = attrs.evolve(record, read_at=now, etag=etag, last_modified=date)
        if is_empty:
            return Verdict(record, "missed", "no-text")
        if is_same:
            is_false_date = None not in (old.lastmod, lastmod) and old.lastmod != lastmod
            return Verdict(attrs.evolve(record, same_text=old.same_text + is_false_date))
        if old.markdown_url == "":  # this text may have one that is worth asking for
            record = attrs.evolve(record, markdown_url=None)
        return Verdict(attrs.evolve(record, text_hash=text_hash, same_text=0), "upsert")


def _choose_try(now: float, since: float) -> float:
    """Return when to ask again: the longer it has been so, the more rarely."""
    return now + min((now - since) / 2, WEEK)


def _read_etag(headers: Mapping[str, str]) -> str | None:
    """Return the ETag, if it is one: `*` would match every version."""
    tag = headers.get("etag", "")
    return tag if tag.endswith('"') else None
