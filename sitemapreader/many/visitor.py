"""SiteWalk: one site of a run, what it asks for, and its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import IssueCode
from sitemapreader.many.sources import CheckedTask, FileFetcher
from sitemapreader.outcomes import NOT_READ, SiteOutcome, SiteStatus

if TYPE_CHECKING:
    import asyncio

    from sitemapreader.models import SitemapEntry
    from sitemapreader.rows import SiteRows
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.walks import Walk


@attrs.define(eq=False)
class SiteBatch:
    """Entries on their way to the consumer, with their site."""

    rows: SiteRows
    handled: asyncio.Event | None = None
    """Set when the consumer asks for more; `None` if no walk waits for that."""

    def __len__(self) -> int:
        return len(self.rows)


@attrs.define(eq=False)
class SiteWalk:
    """A site of a run, while it is walked and when it has ended."""

    name: str
    url: str = ""
    file: FileFetcher | None = None
    """What reads it, if it is a file or standard input."""
    walk: Walk | None = None
    """`None` for what is not a URL."""
    fault: str = ""
    """Why the file cannot be read, or the bug that ended the walk."""
    is_broken: bool = False
    """Whether a bug has ended the walk."""
    sitemaps: dict[str, SitemapEntry] = attrs.field(factory=dict)
    """Key of a URL -> the sitemap, if these are only found."""

    @property
    def children(self) -> int:
        """How many sitemaps and pages a file lists, which are not fetched."""
        if self.file is None or self.walk is None:
            return 0
        return sum(document.children for document in self.walk.report.documents)

    def make_outcome(self) -> SiteOutcome:
        """Return the outcome of the site, as it stands."""
        if self.walk is None:
            return SiteOutcome(self.name, SiteStatus.FAILED, str(IssueCode.INVALID_URL))
        report = self.walk.report
        outcome = attrs.evolve(report.outcome, site=self.name)
        if self.is_broken:
            return attrs.evolve(outcome, status=SiteStatus.ERROR, reason=self.fault)
        if self.children or self.fault:
            has_urls = outcome.entries or any(document.listed for document in report.documents)
            status = SiteStatus.PARTIAL if has_urls else SiteStatus.FAILED
            return attrs.evolve(outcome, status=status, reason=outcome.reason or NOT_READ)
        return outcome


def aim(config: WalkConfig, checked: CheckedTask, due: frozenset[str] | None) -> WalkConfig:
    """Return the arguments of a run for one of its sites; `due` is what is asked for."""
    task = checked.task
    trusted = config.trusted if task.trusted is None else task.trusted
    is_sitemap = task.kind == "sitemap"
    config = attrs.evolve(
        config,
        site=None if is_sitemap else checked.url,
        is_page=task.kind == "site",
        sitemaps=(checked.url,) if is_sitemap else (),
        trusted=trusted,
        logins=(checked.login,) if checked.login and trusted else (),
        revisit=config.revisit if due is None else due,
    )
    if not isinstance(task.fetcher, FileFetcher):
        return config
    return attrs.evolve(  # nothing besides the file can be fetched
        config,
        base_url=task.fetcher.base_url,
        follow=lambda _: False,
        state=None,  # it would have to know one file from another, and each reading is complete
        changes=False,
        unlisted=False,
        gone=0,
        revisit=None,
    )
