"""`sitemapreader watch`: what a user sees, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.support import commands
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Done = subprocess.CompletedProcess[str]

SITE = "https://example.org/"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "robots.txt").write_text(f"Sitemap: {SITE}sitemap.xml\n")
    (folder / "sitemap.xml").write_bytes(index(f"{SITE}a.xml"))
    publish(folder, "1", "2")
    return folder


def publish(folder: Path, *names: str) -> None:
    (folder / "a.xml").write_bytes(urlset(*(f"{SITE}{name}" for name in names)))


def run(
    site: Path, *words: str, until: Callable[[Done], object] = lambda _: True
) -> Done:
    """Watch for a fifth of a second, or for longer where a busy machine needs it."""
    for seconds in ("0.2s", "5s", "60s"):
        ran = commands.run(
            "watch", *words, "--for", seconds, "--state", "s.db", cwd=site.parent
        )
        if until(ran):
            break
    return ran


def is_read(site: Path) -> bool:
    with closing(sqlite3.connect(site.parent / "s.db")) as db:
        (number,) = db.execute(
            "SELECT count(*) FROM document WHERE read_at > 0"
        ).fetchone()
    return int(number) >= 2


def let_time_pass(site: Path) -> None:
    with closing(sqlite3.connect(site.parent / "s.db")) as db, db:
        db.execute("UPDATE document SET asked_at = asked_at - 5000")


def test_what_is_printed(site: Path) -> None:
    """Silent at first; then a line for each change, which an entry of a feed is as well."""
    first = run(site, "site", until=lambda _: is_read(site))
    assert (first.returncode, first.stdout) == (0, "")
    let_time_pass(site)
    publish(site, "1", "2", "new0")
    ran = run(site, "site", until=lambda ran: ran.stdout)
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(
        rf"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\tnew\t{SITE}new0\n", ran.stdout
    )
    let_time_pass(site)
    publish(site, "1", "2", "new0", "new2")
    (site.parent / "list").write_text("no site\n")
    words = ("site", "-i", "list", "--format", "jsonl")
    ran = run(site, *words, until=lambda ran: ran.stdout)
    row = json.loads(ran.stdout)
    assert (row["site"], row["loc"], row["change"]) == ("site", f"{SITE}new2", "new")
    assert (ran.returncode, "'no site' is neither an http(s) URL" in ran.stderr) == (
        3,
        True,
    )
    let_time_pass(site)
    publish(site, "1", "2", "new0", "new1")
    atom = site.parent / "c.atom"
    ran = run(site, "site", "-o", "c.atom", until=lambda _: "new1" in atom.read_text())
    feed = atom.read_text()
    assert (ran.stdout, feed.count("<entry>"), f"{SITE}new1" in feed) == ("", 1, True)


def test_ctrl_c(site: Path) -> None:
    """It goes on until Ctrl-C, which ends with 130; meanwhile nothing else writes the state."""
    words = ("watch", "site", "--state", "s.db", "--initial")
    with commands.start(*words, cwd=site.parent, encoding="utf-8") as process:
        assert process.stdout is not None
        assert [process.stdout.readline().split()[1] for _ in range(2)] == [
            "new",
            "new",
        ]
        assert run(site, "site").returncode == 6
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


def test_a_closed_pipe(site: Path) -> None:
    """When the reader has gone, the end is 141."""
    words = ("watch", "site", "--state", "s.db", "--initial")
    with (
        commands.open_dead_pipe() as pipe,
        commands.start(*words, cwd=site.parent, stdout=pipe) as process,
    ):
        assert process.wait(30) == 141


def test_nothing_can_be_fetched(site: Path) -> None:
    """A site that is down is said, and the end is 4."""
    ran = run(site, "http://127.0.0.1:9/", "--pace", "60", until=lambda ran: ran.stderr)
    assert ran.returncode == 4
    assert "http://127.0.0.1:9/: failed (" in ran.stderr


ENDS = """
import sys
from sitemapreader._cli import main
from sitemapreader._cli.commands import watch
from sitemapreader._types.outcomes import SiteOutcome, SiteStatus

class Ended:
    async def __aenter__(self): return self
    async def __aexit__(self, *_): pass
    async def batches(self):
        for _ in (): yield

def end(sites, on_site, **_):
    ends = "complete: failed:timeout failed:timeout complete:not-due failed:no-sitemap unchanged:"
    for status, reason in (each.split(":") for each in ends.split()):
        on_site(SiteOutcome("a.example", SiteStatus(status), reason))
    return Ended()

watch.watch = end
sys.exit(main(["watch", "a.example", "--state", "s.db"]))
"""


def test_an_end_is_said_once(tmp_path: Path) -> None:
    """How a site ended is said where it ended otherwise before: failed, and read again."""
    ran = commands.run_code(ENDS, tmp_path)
    ends = [line.partition("a.example: ")[2] for line in ran.stderr.splitlines()]
    assert ran.returncode == 0
    assert ends == ["failed (timeout)", "failed (no-sitemap)", "read again"]


@pytest.mark.cases(30)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["site", "--pace", "4000"], "--pace must be above 0 and at most 3600"),
        (
            ["site", "--kinds", "removed"],
            "--kinds must be a list of new, changed, unlisted, gone",
        ),
        (["site", "-o", "changes.csv"], "changes.atom"),
        (["site", "-o", "changes.html"], "changes.atom"),
        (["site/a.xml"], "single file"),
        ([], "no source was given"),
    ],
)
def test_what_cannot_be_meant(site: Path, words: list[str], said: str) -> None:
    """Wrong usage ends with 2, and the message says what to write."""
    ran = run(site, *words)
    assert ran.returncode == 2
    assert said in ran.stderr
