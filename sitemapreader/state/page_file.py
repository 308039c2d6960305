"""The memory of an index of pages, in an SQLite file of its own.

A state knows what sitemaps list; this file knows what the listed pages said when they were asked.
Nothing here fetches or decides: the documents recipe does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import attrs

from sitemapreader.state.database import FileKind, StateFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_KIND = FileKind("page file", 0x534D5250, 1, "pages.sql", has_one_writer=False)  # SMRP


@attrs.frozen
class PageRecord:
    """What is known of one page of an index. Moments are seconds since 1970.

    Attributes:
        url: as it is listed.
        lastmod: as it was listed when the page was asked last.
        is_listed: whether a sitemap lists it.
        text_hash: of its text in the index; `None` if nothing is there.
        source: where the text was found, if another page answered.
        etag: validator of the text, as sent.
        last_modified: the other validator, as sent.
        markdown_url: its version in Markdown; "" if that is not worth asking for.
        same_text: how often its lastmod moved, and not its text, since that last changed.
        checked_at: when it last answered.
        read_at: when all of it was last read, for a 304 may be untrue.
        failed_at: since when it has not answered with itself; `None` if it does.
        gone_at: when it first answered that it is gone or elsewhere, with no other answer since.
        gone_to: where it led then; "" if it was gone.
        next_try: when it is to be asked again, whether its lastmod moves or not.
    """

    url: str
    lastmod: str | None = None
    is_listed: bool = attrs.field(default=True, converter=bool)
    text_hash: str | None = None
    source: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    markdown_url: str | None = None
    same_text: int = 0
    checked_at: float | None = None
    read_at: float | None = None
    failed_at: float | None = None
    gone_at: float | None = None
    gone_to: str | None = None
    next_try: float | None = None


_NAMES = [field.name for field in attrs.fields(PageRecord)]
_COLUMNS = ", ".join(_NAMES)
_SELECT = f"SELECT {_COLUMNS} FROM page WHERE site = :site"
_INSERT = (
    f"INSERT OR REPLACE INTO page (site, {_COLUMNS})"
    f" VALUES (:site, {', '.join(f':{name}' for name in _NAMES)})"
)


class PageFile:
    """What is known of the pages of one site's index; a context manager.

    A file that is damaged or foreign is renamed, and a new one begun. Runs over several sites write
    it in turn; that a site has one run at a time is for the state to see to.

    Attributes:
        is_filled: whether a run has met all pages of the site; `save` writes it down.

    Args:
        path: the file; made if it is not there, and readable by its owner only.
        site: a name; a file keeps the pages of several sites apart.

    Raises:
        StateError: the file cannot be used; from any method.
    """

    def __init__(self, path: Path, site: str) -> None:
        self._file = StateFile(path, _KIND)
        self._site = 0
        try:
            with self._file.transaction():
                self._ask("INSERT OR IGNORE INTO site (name) VALUES (:name)", name=site)
            ((self._site, self._validators, filled),) = self._ask(
                "SELECT id, validators, is_filled FROM site WHERE name = :name", name=site
            )
        except BaseException:
            self._file.close()
            raise
        self.is_filled = bool(filled)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def trusts_validators(self) -> bool:
        """Whether a 304 of this site is believed: an ETag was seen to tell of a change."""
        return bool(self._validators > 0)

    def note_validators(self, *, are_true: bool) -> None:
        """Note that a text changed, and whether its validators did; `save` writes it down."""
        self._validators = -1 if not are_true or self._validators < 0 else 1

    def find(self, urls: Iterable[str]) -> dict[str, PageRecord]:
        """Return the records of those URLs that have one."""
        found = (self._records(f"{_SELECT} AND url = :url", url=url) for url in urls)
        return {record.url: record for records in found for record in records}

    def save(self, records: Mapping[str, PageRecord | None]) -> None:
        """Write records by URL, `None` to forget a page: all of it, or nothing."""
        with self._file.transaction():
            for url, record in records.items():
                if record is None:
                    self._ask("DELETE FROM page WHERE site = :site AND url = :url", url=url)
                else:
                    self._ask(_INSERT, **attrs.asdict(record))
            self._ask(
                "UPDATE site SET validators = :validators, is_filled = :filled WHERE id = :site",
                validators=self._validators,
                filled=self.is_filled,
            )
        self._file.sync()

    def unlist(self, urls: Iterable[str]) -> None:
        """Note that no sitemap lists pages any more, so that they are asked next."""
        sql = (
            "UPDATE page SET is_listed = 0, next_try = 0"
            " WHERE site = :site AND url = :url AND is_listed"
        )
        with self._file.transaction():
            for url in urls:
                self._ask(sql, url=url)
        self._file.sync()

    def list_failed(self, now: float, after: str, number: int) -> list[PageRecord]:
        """Return listed pages that failed and are due: those behind a URL, in order."""
        return self._records(
            f"{_SELECT} AND is_listed AND next_try <= :now AND url > :after ORDER BY url"
            " LIMIT :number",
            now=now,
            after=after,
            number=number,
        )

    def list_doubted(self, now: float, before: float, number: int) -> list[PageRecord]:
        """Return pages that no sitemap speaks of, those in most doubt first.

        Those that are not listed and due; then listed ones that last answered until `before`, first
        those without a lastmod or with a false one. Of each, those that were asked longest ago.
        """
        return self._records(
            f"{_SELECT} AND CASE WHEN is_listed THEN failed_at IS NULL AND checked_at <= :before"
            " ELSE next_try <= :now END ORDER BY is_listed, gone_at IS NULL,"
            " lastmod IS NOT NULL AND same_text < 2, checked_at, url LIMIT :number",
            now=now,
            before=before,
            number=number,
        )

    def _records(self, sql: str, **values: object) -> list[PageRecord]:
        return [PageRecord(*row) for row in self._ask(sql, **values)]

    def _ask(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        with self._file.guard():
            return self._file.connection.execute(sql, {"site": self._site, **values}).fetchall()
