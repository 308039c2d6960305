"""Audits: the functions `audit` and `audit_sync`, and one run step by step."""

from __future__ import annotations

import math
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs

from sitemapreader import __version__
from sitemapreader._event_loop import without_await
from sitemapreader._types.fields import NESTED_ARGUMENTS
from sitemapreader._types.hosts import HostMap
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader._types.urls import origin_of
from sitemapreader.audit.database import AuditDatabase
from sitemapreader.audit.loading import (
    WalkLoader,
    fetch_robots,
    judge_robots,
    prepare,
)
from sitemapreader.audit.models import (
    TALLIES,
    AuditInputError,
    AuditOptions,
    Need,
    RuleSettings,
)
from sitemapreader.audit.result import (
    Audit,
    find_mended,
    list_losses,
    mark_new,
    read_baseline,
)
from sitemapreader.audit.rules import RulePlan, plan_rules
from sitemapreader.audit.runner import RuleRunner, find_unmet_needs, gather_facts
from sitemapreader.audit.sources import (
    Known,
    ReadingOptions,
    find_audit_source,
    find_moves,
    find_old,
    find_old_host,
    load_known,
    load_old,
    locate_findings,
    open_walk,
)
from sitemapreader.audit.values import Facts
from sitemapreader.audit.visits import TARGET_RULES, SiteVisits, describe_pages
from sitemapreader.fetch import FolderFetcher

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from sitemapreader import Document, Follow, Report, Search, SitemapEntry, SiteTask
    from sitemapreader._types.arguments import FilePath
    from sitemapreader.fetch import Fetcher
    from sitemapreader.pages import PageVisit


_REQUESTED_ORIGINS = (
    "SELECT DISTINCT scheme_of(key) || '://' || host_of(key) FROM page WHERE file = ''"
)
_STAND_IN = "INSERT INTO stand_in VALUES ($site, host_of($origin), host_of($target))"


@attrs.define
class AuditRun:
    """One audit, step by step: `read`, `judge`, `finish`."""

    _database: AuditDatabase
    _plan: RulePlan
    _figures: AuditOptions
    _values: dict[str, object]
    _visits: SiteVisits
    _source: SiteTask
    _old: SiteTask | None = None
    """The old site, if its sitemaps are to be read."""
    _report: Report = attrs.field(init=False)
    _hosts: HostMap = attrs.field(factory=HostMap, init=False)
    """The mapped hosts."""
    runner: RuleRunner = attrs.field(init=False)
    _old_complete: bool = attrs.field(default=True, init=False)

    @property
    def _requests_pages(self) -> bool:
        """True if pages are requested: of a site, and of a sitemap or list in a file.

        The pages of a folder are its files, unless another host is to stand for theirs.
        """
        if self._database.is_http:
            return True
        return self._visits.has_number and (
            self._source.kind == "sitemap" or bool(self._hosts.find(self._source.url))
        )

    async def read(self, reading: ReadingOptions) -> None:
        """Read the sitemaps and robots.txt files into the database, and visit pages."""
        source = self._source
        old = self._old
        network = reading.network
        self._hosts = HostMap(network.map_hosts)
        limits = reading.limits or Limits()
        most = limits.max_time
        # of the whole audit: the walk has some of the time
        until = monotonic() + min(
            limits.walk_seconds, most.total_seconds() if most else math.inf
        )
        async with AsyncExitStack() as stack:
            online = reading
            requests_pages = self._requests_pages
            asks = requests_pages or (old is not None and old.fetcher is None)
            if asks and reading.fetcher is None:
                from sitemapreader.fetch import HttpFetcher  # noqa: PLC0415 (150 ms)

                opened = await stack.enter_async_context(
                    HttpFetcher(network, limits=limits)
                )
                online = attrs.evolve(reading, fetcher=opened, options=None)
            if old is not None:
                passed = reading if old.fetcher else online
                self._old_complete = await load_old(self._database, old, passed)
            is_http = self._database.is_http
            await self._walk(online if is_http else reading.without_hosts())
            if requests_pages:
                fetcher = cast("Fetcher", online.fetcher)
                if network.map_hosts:
                    fetcher = cast("HttpFetcher", fetcher).client()
            else:
                fetcher = cast("Fetcher", source.fetcher)
            if is_http and self._needs_robots():
                await fetch_robots(
                    self._database,
                    fetcher,
                    network.user_agent,
                    seconds=until - monotonic(),
                )
            if requests_pages or source.kind != "sitemap":
                named = [source.url, *find_old_host(self._database)]
                if old is not None:
                    named.append(old.url)
                await self._visits.visit(
                    fetcher,
                    network,
                    named,
                    until=until,
                    is_http=requests_pages,
                )

    async def _walk(self, reading: ReadingOptions) -> None:
        """Walk, and load everything that is read."""
        loader = WalkLoader(self._database, reading.on_document)
        entries = open_walk(
            self._source, attrs.evolve(reading, on_document=loader.note_end)
        )
        async with entries:
            await loader.load(entries)
            loader.load_robots(entries)
        self._report = entries.report
        loader.load_report(self._report, self._figures.now)

    def _list_used_hosts(self) -> dict[str, str]:
        """Return the mapped hosts of all that was requested, each with its target."""
        if not self._hosts:
            return {}
        asked = self._database.ask_column(_REQUESTED_ORIGINS)
        if self._database.is_http:
            asked += [each.url for each in self._report.documents]
        return dict(self._hosts.list_used(asked))

    def _needs_robots(self) -> bool:
        """Return whether a chosen rule judges URLs of hosts outside the walk."""
        return not self._plan.chosen.keys().isdisjoint(
            {"robots-blocked-url", "robots-blocked-image", "host-other"}
        )

    def judge(self) -> None:
        """Run the rules; this takes seconds, so run it in a thread."""
        self._database.end_loading()
        site = self._source.url
        if target := self._hosts.find(site):
            origins = {"origin": origin_of(site), "target": origin_of(target)}
            self._database.ask(_STAND_IN, site=site, **origins)
        self._visits.judge(self._source.url)
        prepare(self._database, self._values)
        judge_robots(self._database, self._figures.robots)
        missing, doubt = find_unmet_needs(
            self._database,
            self._report,
            self._visits.missing,
            self._figures.least_overlap,
        )
        examples = int(self._figures.examples)
        self.runner = RuleRunner(
            self._database, self._plan, self._values, examples, missing, doubt
        )
        self.runner.run()

    def finish(
        self, baseline: int | None, known_losses: Collection[str], **head: Any
    ) -> Audit:
        """Return the result; `head` are facts that only the caller knows."""
        database = self._database
        findings = self.runner.find()
        pages = describe_pages(database)
        mended = {}
        if baseline is not None:
            for finding in findings:
                mark_new(database, finding, int(self._figures.examples))
            mended = find_mended(
                database,
                findings,
                self.runner.passed,
                pages,
                is_complete=self._report.complete,
            )
        folder = self._source.fetcher
        gathered = gather_facts(database, self._values)
        files = {}
        if isinstance(folder, FolderFetcher):
            parents = {each.url: each.parent for each in gathered["documents"]}
            files = locate_findings(findings, folder, parents)
        used = self._list_used_hosts()
        facts = Facts(
            **head,
            mapped_hosts=used,
            unused_hosts=[each for each, _ in self._hosts.names if each not in used],
            complete=self._report.complete,
            losses=list_losses(self._report),
            answered=any(each.is_answered for each in self._report.documents),
            **gathered,
            files=files,
            base_url=folder.base_url if isinstance(folder, FolderFetcher) else "",
            passed=self.runner.passed,
            not_run=self.runner.not_run,
            **pages,
            old_complete=self._old_complete,
            baseline=baseline,
            mended=None if baseline is None else sum(map(len, mended.values())),
            mended_hits=mended,
            ignored=self.runner.ignored,
        )
        for unit in TALLIES:
            if (tally := facts.find_tally(unit)) is not None:
                tally.faulty = self.runner.count_faulty(findings, unit)
        facts.allow_losses(known_losses)
        return Audit(findings, facts, database, self._report)


_HIDING = ("since", "until", "include", "exclude", "unique", "state", "changes")
"""Arguments of a walk that would keep URLs from the rules."""
_ANSWERS = {
    **NESTED_ARGUMENTS,
    **dict.fromkeys(
        (*_HIDING, "sitemaps", "max_urls", "sample", "language"),
        "nothing, because an audit judges all URLs",
    ),
    "severities": "rules=RuleSettings(severities=...)",
    "is_sitemap": 'the source as SiteTask(url, "sitemap"), or "site"',
}


@answer_keywords(_ANSWERS)
async def audit(
    source: str | Path | SiteTask,
    *,
    urls: Known | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    figures: AuditOptions = AuditOptions(),  # noqa: B008 (a frozen value)
    rules: FilePath | RuleSettings | None = None,
    baseline: FilePath | None = None,
    database: FilePath | None = None,
    base_url: str | None = None,
    pages: int | Literal["all"] | None = None,
    was: Known | None = None,
    since_audit: FilePath | None = None,
    on_page: Callable[[PageVisit], object] | None = None,
    on_document: Callable[[Document], object] | None = None,
    search: Search | None = None,
    follow: Follow | Callable[[SitemapEntry], bool] | None = None,
    trusted: bool = True,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
) -> Audit:
    """Judge the sitemaps of a site by rules; needs the extra `audit`.

    ```python
    result = await audit("https://example.org/", ignore=["url-uppercase"])
    with result:
        for finding in result.findings:
            print(finding.rule.code, finding.severity, finding.count, finding.examples[:1])
        result.write("report.html")
    ```

    Args:
        source: URL of a site or of a sitemap, or path of a folder or file. With a `SiteTask`, its
            kind says if a URL is that of a site or of a sitemap; else its content shows that.
        urls: known URLs to compare with: the name of a file (text, CSV, TSV, JSON lines or
            Parquet), or the URLs.
        select: codes, categories or prefixes (`url-*`) of the rules to run; all by default.
        ignore: the same, not to run; it wins. With a colon and a pattern, as in
            `page-noindex:/en/*`, only the hits at URLs that match it are left out.
        figures: the figures of the rules, robots and time included.
        rules: folder with rules of your own, files of SQL; or `RuleSettings`, which may change
            severities as well.
        baseline: file of known hits; findings then say how many are new.
        database: file of the DuckDB database, which is kept; one of an earlier audit is replaced.
            By default it is a temporary one.
        base_url: URL at which a folder or file would be served.
        pages: how many listed pages are visited, or "all" of them: what do they answer? By default
            none of a site, and all of a built folder (0: none), where nothing is requested.
        was: the old site, whose URLs are to lead to the new one: a list as for `urls`, or a URL,
            folder or sitemap. All of them are visited, or as many as `pages` says. With columns
            `old` and `new`, known hits of the baseline move with their URLs.
        since_audit: the database of an earlier audit with `pages`: a page whose text is the same,
            and whose lastmod is newer, has a false date. In a folder, an audit with `database`
            keeps the texts.
        on_page: called with each page that a server was asked for.
        on_document: as in `walk`.
        search: as in `walk`.
        follow: as in `walk`.
        trusted: as in `walk`.
        fetcher: as in `walk`.
        limits: as in `walk`, without `max_urls`.
        options: as in `walk`.

    Raises:
        ValueError: an argument makes no sense, or a file that is named cannot be read.
        OSError: the database cannot be written.
    """
    if limits is not None and limits.max_urls is not None:
        raise TypeError(
            "an audit cannot be combined with Limits(max_urls=...), because it judges all URLs"
        )
    if not (pages in (None, "all") or (isinstance(pages, int) and pages >= 0)):
        raise AuditInputError(f'pages must be a number or "all", got {pages!r}')
    begin = monotonic()
    begun = datetime.now(UTC)
    if not isinstance(rules, RuleSettings):
        rules = RuleSettings(folder=rules)
    plan = plan_rules(rules.folder, select, ignore, rules.severities, figures)
    has_old = was is not None and any(
        Need.WAS in rule.needs for rule in plan.chosen.values()
    )
    if has_old and pages == 0:
        raise AuditInputError(
            "`was` requires visits, but `pages` is 0: write another number"
        )
    found = find_audit_source(source, base_url)
    old = None if was is None else find_old(was)
    if baseline is None:
        before = None
    else:
        before = read_baseline(baseline)
    store = AuditDatabase(database, since_audit, is_http=found.fetcher is None)
    try:
        with store.map_disk_errors():
            known = None
            if urls is not None:
                load = partial(load_known, store, urls, site=found.url)
                known = await store.run_in_thread(load)
            await store.run_in_thread(store.load_earlier)
            if was is not None and old is None:
                load = partial(load_known, store, was, "old", found.url)
                await store.run_in_thread(load)
            if before is not None:
                before = before.move(find_moves(store))
                store.insert_rows("baseline", before.subjects)
                store.insert_rows("baseline_count", before.counts)
            has_text = database is not None or since_audit is not None
            visits = SiteVisits(
                store,
                figures,
                pages,
                has_old,
                has_text,
                not plan.chosen.keys().isdisjoint(TARGET_RULES),
                on_page,
            )
            values = figures.make_parameters(begun)
            run = AuditRun(store, plan, figures, values, visits, found, old)
            await run.read(
                ReadingOptions(
                    search, follow, on_document, trusted, fetcher, limits, options
                )
            )
            await store.run_in_thread(run.judge)
            finish = partial(
                run.finish,
                None if before is None else len(before),
                [] if before is None else before.losses,
                source=found.name,
                begun=figures.now or begun,
                version=__version__,
                known_urls=known,
                seconds=round(monotonic() - begin, 3),
            )
            store.drop_functions()
            return await store.run_in_thread(finish)
    except BaseException:
        store.discard()
        raise


audit_sync = without_await(audit)
