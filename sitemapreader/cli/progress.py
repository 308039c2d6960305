"""The progress bar at the bottom of a terminal."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tqdm import tqdm

    from sitemapreader.cli.console import Console
    from sitemapreader.cli.summary import RunSummary

SECONDS = 0.2
"""Seconds between two updates."""
LINE = "{n_fmt}/{total_fmt} documents |{bar:20}| {desc} [{elapsed}]"


@asynccontextmanager
async def show_progress(console: Console, summary: RunSummary) -> AsyncIterator[None]:
    """Show the progress within this context, if standard error is a terminal."""
    if not console.shows_progress:
        yield
        return
    bar = _make_bar()
    console.erase_progress = bar.clear
    task = asyncio.create_task(_refresh(bar, summary), name="sitemapreader.progress")
    try:
        yield
    finally:
        task.cancel()
        console.erase_progress = None
        bar.clear()  # `close` does not erase a bar that only `refresh` has drawn
        bar.close()


def _make_bar() -> tqdm[None]:
    from tqdm import tqdm  # noqa: PLC0415 (imported only if somebody watches)

    tqdm.set_lock(
        threading.RLock()
    )  # the default lock works across processes and costs a semaphore
    tqdm.monitor_interval = 0  # no monitor thread: `_refresh` updates the bar
    return tqdm(
        total=0,
        file=sys.stderr,
        bar_format=LINE,
        delay=SECONDS,  # the totals are not known yet
        leave=False,
        dynamic_ncols=True,
    )


async def _refresh(bar: tqdm[None], summary: RunSummary) -> None:
    while True:
        await asyncio.sleep(SECONDS)
        done, known = summary.count_documents()
        rate = summary.printed / max(bar.format_dict["elapsed"], SECONDS)
        size = bar.format_sizeof(summary.count_bytes(), "B", 1024)
        text = f"{summary.printed:,} {summary.what}, {rate:,.0f}/s, {size}"
        if summary.is_for_many:
            text = f"{summary.done:,} {'source' if summary.done == 1 else 'sources'} done, {text}"
        bar.n, bar.total = done, known
        bar.desc = text
        bar.refresh()
