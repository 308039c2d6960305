"""The functions `audit` and `audit_sync`."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from sitemapreader.audit.database.connection import AuditDatabase
from sitemapreader.audit.database.known import load_known
from sitemapreader.audit.database.source import find_source
from sitemapreader.audit.options import AuditOptions
from sitemapreader.audit.result import read_baseline
from sitemapreader.audit.run import AuditRun, plan_rules
from sitemapreader.event_loop import run_blocking
from sitemapreader.version import __version__
from sitemapreader.walker.config import WalkArguments

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    from sitemapreader.audit.database.known import Known
    from sitemapreader.audit.result import Audit
    from sitemapreader.issues import Severity

_HIDING = frozenset(
    {"since", "until", "include", "exclude", "unique", "state", "changes", "sitemaps"}
)
"""Arguments of a walk that would keep URLs from the rules."""


class AuditArguments(WalkArguments, total=False):
    """The keyword arguments of `audit`, which explains them."""

    urls: Known | None
    select: Sequence[str]
    ignore: Sequence[str]
    severities: Mapping[str, Severity] | None
    figures: AuditOptions
    rules: str | os.PathLike[str] | None
    baseline: str | os.PathLike[str] | None
    database: str | os.PathLike[str] | None
    base_url: str | None
    is_sitemap: bool | None


async def audit(
    source: str | Path,
    *,
    urls: Known | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity] | None = None,
    figures: AuditOptions = AuditOptions(),  # noqa: B008 (a frozen value)
    rules: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
    database: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    is_sitemap: bool | None = None,
    **arguments: Unpack[WalkArguments],
) -> Audit:
    """Judge the sitemaps of a site by rules; needs the extra `audit`.

    ```python
    result = await audit("https://example.org/", ignore=["url-uppercase"])
    with result:
        for finding in result.findings:
            print(finding.code, finding.severity.name, finding.count, finding.examples[:1])
        result.write("report.html")
    ```

    Args:
        source: URL of a site or of a sitemap, or path of a folder or file.
        urls: known URLs to compare with: the name of a file (text, CSV, TSV, JSON lines or
            Parquet), or the URLs.
        select: codes, categories or prefixes (`url-*`) of the rules to run; all by default.
        ignore: the same, not to run; it wins.
        severities: code of a rule -> another severity.
        figures: the figures of the rules, robots and time included.
        rules: folder with rules of your own, files of SQL.
        baseline: file of known hits; findings then say how many are new.
        database: file of the DuckDB database, which is kept; one of an earlier audit is replaced.
            By default it is a temporary one.
        base_url: URL at which a folder or file would be served.
        is_sitemap: whether `source` is the URL of a sitemap (True) or of a site (False); by default
            its content tells.
        arguments: arguments of `walk`, without those that leave out URLs.

    Raises:
        ValueError: an argument makes no sense, or a file that is named cannot be read.
        OSError: the database cannot be written.
    """
    if hiding := sorted(_HIDING & arguments.keys()):
        raise TypeError(f"{', '.join(hiding)}: an audit judges all URLs, so leave this out")
    begin, begun = monotonic(), datetime.now(UTC)
    plan = plan_rules(rules, select, ignore, severities or {}, figures)
    found = find_source(source, base_url, is_sitemap=is_sitemap)
    store = AuditDatabase(database)
    try:
        with store.map_disk_errors():
            known = None
            if urls is not None:
                known = await store.run_in_thread(partial(load_known, store, urls))
            before = None if baseline is None else read_baseline(baseline, store)
            run = AuditRun(store, plan, figures, figures.make_parameters(begun))
            await run.walk(found, arguments)
            await store.run_in_thread(partial(run.judge, has_known=known is not None))
            finish = partial(
                run.finish,
                before,
                source=found.name,
                begun=figures.now or begun,
                version=__version__,
                known_urls=known,
                seconds=round(monotonic() - begin, 3),
            )
            return await store.run_in_thread(finish)
    except BaseException:
        store.discard()
        raise


def audit_sync(source: str | Path, **arguments: Unpack[AuditArguments]) -> Audit:
    """Judge the sitemaps of a site as `audit` does, but without `await`.

    ```python
    with audit_sync("https://example.org/") as result:
        print(result.to_dataframe())
    ```

    It works inside a running event loop as well, as in a notebook. Raises what `audit` raises.
    """
    return run_blocking(audit(source, **arguments))
