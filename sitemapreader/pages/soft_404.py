"""Soft 404s: pages that respond as a made-up path of their folder does.

The rule is one for the listed pages and the old URLs of an audit, and for a page that is asked for
alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from sitemapreader._types.urls import ERROR_PATH, FIRST_FOLDER, url_key
from sitemapreader.pages.facts import PageFacts, join_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sitemapreader.pages.visit import PageVisit

_FOLDER_PAGE = re.compile(r"/index\.html?$")
_LEAST_OTHERS = 3
"""Pages with texts of their own, by which the server makes the pages of a folder."""
_FEW_WORDS = 10
_SMALL_SHARE = 0.3
_LONG_WORDS = 2 * _FEW_WORDS
"""Words of an error page by which a page that may be like it is known: half of them at least."""
_SHOWN_WORD = re.compile(r"\w+")
"""Two error pages differ in no more words than this, and in no larger share of their words."""


def find_folder(url: str) -> str:
    """Return the key of the origin and the first folder of a URL; "" if there is none."""
    match = FIRST_FOLDER.match(url_key(url))
    if match is None:
        return ""
    return match[0]


def make_up_path(folder: str) -> str:
    """Return the URL of a page that no site has; the same at each call."""
    digest = blake2b(folder.encode(), digest_size=6)
    return f"{folder}sitemapreader-{digest.hexdigest()}"


def list_long_words(data: bytes) -> list[bytes]:
    """Return the longest words of the text of an error page in UTF-8, as `bytes.lower` has them.

    A page that `ErrorPage.is_like` calls alike has at least half of them.
    """
    page = data.lower().decode("utf-8", "replace")
    text = join_text(page)
    words = sorted(set(_SHOWN_WORD.findall(text)))
    words.sort(key=len, reverse=True)
    return [word.encode() for word in words[:_LONG_WORDS]]


@attrs.frozen
class ErrorPage:
    """The response to a made-up path: its status, its facts, and the key of its redirect."""

    status: int
    facts: PageFacts
    target: str = ""

    @classmethod
    def of_visit(cls, visit: PageVisit) -> ErrorPage | None:
        """Return the error page of a visit, or `None` if it says nothing."""
        status = visit.status
        facts = visit.facts
        if visit.not_judged is not None or facts is None or status is None:
            return None
        target = url_key(visit.final_url)
        if status == 200 and target != url_key(visit.url):
            # the text is that of the real page behind the redirect
            return cls(status, PageFacts(visit.final_url), target)
        return cls(status, facts)

    @property
    def is_error(self) -> bool:
        """True if its status says so."""
        return self.status >= 400

    def is_copied_by(self, facts: PageFacts) -> bool:
        """Return whether a page has its text, apart from the names of the two."""
        template = self.facts.template_hash
        return template is not None and template == facts.template_hash

    def is_like(self, facts: PageFacts) -> bool:
        """Return whether a page has its text, or both say so with few different words."""
        if self.is_copied_by(facts):
            return True
        words = self.facts.missing_words
        other_words = facts.missing_words
        all_words = words | other_words
        max_different = min(_FEW_WORDS, _SMALL_SHARE * len(all_words))
        return bool(words) and len(words ^ other_words) <= max_different


@attrs.frozen
class SoftErrors:
    """The pages that respond as a page does that does not exist.

    Attributes:
        urls: of these pages, as they were visited.
        distrusted: folders in which this is not known, because their pages are all alike.
    """

    urls: frozenset[str]
    distrusted: tuple[str, ...]


def find_soft_errors(
    probes: Mapping[str, PageVisit],
    pages: Sequence[PageVisit],
) -> SoftErrors:
    """Find the pages that respond as a made-up path does, or only say that they are missing.

    A page is compared with the path of its own folder, and of the one that it leads to.

    Args:
        probes: folder -> the visit of its made-up path.
        pages: all visits that are known of the site.
    """
    pages = [page for page in pages if page.not_judged is None and page.status == 200]
    folders = {find_folder(page.url) for page in pages}
    groups: dict[str, list[PageVisit]] = defaultdict(list)
    for page in pages:
        groups[find_folder(page.final_url)].append(page)
    known = _list_error_pages(probes, folders | groups.keys())
    distrusted = set()
    for folder, found in groups.items():
        trusted = [each for each in known[folder] if _is_told_apart(each, found)]
        if len(trusted) < len(known[folder]):
            distrusted.add(folder)
        known[folder] = trusted
    urls = frozenset(page.url for page in pages if _is_soft_error(page, known))
    return SoftErrors(urls, tuple(sorted(distrusted)))


def _list_error_pages(
    probes: Mapping[str, PageVisit],
    folders: Iterable[str],
) -> dict[str, list[ErrorPage]]:
    """Return the error pages of each folder; without a probe, the ones of its host."""
    own: dict[str, list[ErrorPage]] = {}
    of_host: dict[str, list[ErrorPage]] = defaultdict(list)
    for folder, visit in probes.items():
        error_page = ErrorPage.of_visit(visit)
        if error_page is None:
            continue
        own[folder] = [error_page]
        if error_page.is_error:
            host = urlsplit(folder).netloc
            of_host[host].append(error_page)
    known = {}
    for folder in folders:
        host = urlsplit(folder).netloc
        known[folder] = own.get(folder, of_host[host])
    return known


def _is_told_apart(error_page: ErrorPage, pages: Iterable[PageVisit]) -> bool:
    """Return whether real pages of a folder differ from its error page.

    Pages that a browser builds are all alike, and do not say that there is none. Where three others
    have texts of their own, the server makes them. Of an error page by its status, half is not
    enough, and one that is named as such says nothing.
    """
    if error_page.facts.template_hash is None or error_page.facts.says_missing:
        return True
    alike = 0
    total = 0
    others = set()
    for page in pages:
        if error_page.is_error and _has_error_path(page):
            continue
        total += 1
        facts = page.facts or PageFacts(page.final_url)
        if error_page.is_copied_by(facts):
            alike += 1
        elif facts.text_hash is not None:
            others.add(facts.text_hash)
    is_mostly_alike = 2 * alike >= total + error_page.is_error
    return not is_mostly_alike or len(others) >= _LEAST_OTHERS


def _has_error_path(page: PageVisit) -> bool:
    path = urlsplit(page.url).path
    return ERROR_PATH.match(path) is not None


def _is_soft_error(page: PageVisit, known: Mapping[str, list[ErrorPage]]) -> bool:
    facts = page.facts or PageFacts(page.final_url)
    if ERROR_PATH.match(f"/{page.file}"):
        return True
    if facts.is_notice or (facts.says_missing and _has_error_path(page)):
        return True
    key = url_key(page.url)
    final_key = url_key(page.final_url)
    if final_key != key:
        error_pages = known[find_folder(key)]
        targets = [each.target for each in error_pages]
        if final_key in targets:
            return True
    for name in (key, final_key):
        folder = find_folder(name)
        if folder.startswith(_FOLDER_PAGE.sub("/", name)):
            continue  # a start page that stands for missing pages is itself a real page
        if any(each.is_like(facts) for each in known[folder]):
            return True
    return False
