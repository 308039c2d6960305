"""The state on the command line: what a cron job sees from one night to the next."""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sitemapreader.changes.database import StateFile
from tests.support import commands
from tests.support.clock import DAY, HOUR, SetClock
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from pathlib import Path


class Ran(NamedTuple):
    code: int
    lines: list[str]
    said: str


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "robots.txt").write_text("Sitemap: https://example.org/sitemap.xml\n")
    (folder / "sitemap.xml").write_bytes(index("https://example.org/a.xml"))
    publish(folder, "1", "2")
    return folder


def publish(folder: Path, *names: str) -> None:
    (folder / "a.xml").write_bytes(
        urlset(*(f"https://example.org/{name}" for name in names))
    )


def run(folder: Path, *words: str) -> Ran:
    done = commands.run(*words, cwd=folder.parent)
    return Ran(done.returncode, done.stdout.splitlines(), done.stderr)


def test_the_second_night_prints_nothing_and_is_no_failure(site: Path) -> None:
    """An unchanged site prints no URL, and exits with 0: everything was read."""
    assert run(site, "site", "--state", "site.db").lines == [
        "https://example.org/1",
        "https://example.org/2",
    ]
    again = run(site, "site", "--state", "site.db")
    assert (again.code, again.lines) == (0, [])
    assert "2 unchanged" in again.said


def test_a_repeated_command_loses_nothing(site: Path) -> None:
    """A file that has URLs is not replaced by a run with a state: they would not come again."""
    output = site.parent / "day.csv"
    command = ["site", "--state", "site.db", "--changes", "-o", output.name]
    assert run(site, *command).code == 0
    written = output.read_bytes()
    publish(site, "1", "2", "3")
    for words in (command, [word for word in command if word != "--changes"]):
        again = run(site, *words)
        assert (again.code, "name another file" in again.said) == (2, True)
        assert output.read_bytes() == written
    assert run(site, *command[:-1], "next.csv").code == 0
    assert "org/3" in (site.parent / "next.csv").read_text("utf-8")


def test_changes_and_what_is_unlisted(site: Path) -> None:
    """What is new, what is missing and waits for another day, and what `state` says of it."""
    words = [
        "site",
        "--state",
        "site.db",
        "--changes",
        "--unlisted",
        "--format",
        "jsonl",
    ]
    assert len(run(site, *words).lines) == 2
    publish(site, "2", "3")
    ran = run(site, *words)
    rows = [json.loads(line) for line in ran.lines]
    assert [(row["loc"][-1], row["change"]) for row in rows] == [("3", "new")]
    assert (ran.code, "not unlisted yet: 1 URL," in ran.said) == (0, True)
    told = run(site, "state", "site.db", "--unlisted")
    assert (told.code, told.lines) == (0, [])
    assert "example.org/: not unlisted yet: 1 URL, because" in told.said
    assert "not unlisted yet" not in run(site, "state", "site.db", "--gone").said
    assert "0 unlisted, 1 waiting" in run(site, "state", "site.db").lines[1]


OTHER = "https://other.example/b.xml"


@pytest.mark.parametrize(
    ("children", "waits_for"),
    [
        ([], "a later walk must read https://example.org/a.xml again"),
        ([OTHER], f"{OTHER} may list them, and was not read"),
    ],
)
def test_what_missing_urls_wait_for(
    site: Path, children: list[str], waits_for: str
) -> None:
    """The summary and `state` name the document, and why it was not read."""
    (site / "sitemap.xml").write_bytes(index("https://example.org/a.xml", *children))
    words = ["site", "--state", "site.db", "--changes"]
    if children:
        words += ["--confirm-after", "0"]
    for names in ("12", "2", "2"):
        publish(site, *names)
        ran = run(site, *words)
    expected = f"not unlisted yet: 1 URL, because {waits_for}"
    assert expected in ran.said
    assert (f"{expected} (cross-host-child)" in ran.said) is bool(children)
    assert expected in run(site, "state", "site.db", "--unlisted").said


@pytest.mark.parametrize(
    ("hours", "least"),
    [
        ((0, 24), 24 + 23),
        ((0, 24, 25), 24 + 23),
        ((0, 1), 23 + 23),
        ((0, 24, 60), 0),
    ],
)
def test_when_a_missing_url_can_be_proved_to_be_unlisted(
    site: Path, monkeypatch: pytest.MonkeyPatch, hours: tuple[int, ...], least: int
) -> None:
    """23 hours after a reading that counts, which has to be 23 hours after the one before."""
    clock = SetClock(monkeypatch)
    start = clock.now
    for hour in hours:
        clock.now = start + hour * HOUR
        words = ["--state", "site.db", "--changes", "--report", "walk.json"]
        ran = run(site, "site", *words)
        publish(site, "2")
    told = run(site, "state", "site.db", "--unlisted").said
    if not least:
        assert ("not unlisted yet" in ran.said, "not unlisted yet" in told) == (
            False,
            False,
        )
        return
    moment = datetime.fromtimestamp(start + least * HOUR, UTC)
    expected = (
        "a later walk must read https://example.org/a.xml again,"
        f" after {moment:%Y-%m-%d %H:%M} UTC at the earliest"
    )
    assert (expected in ran.said, expected in told) == (True, True)
    report = json.loads((site.parent / "walk.json").read_text("utf-8"))
    assert report["waits_until"] == moment.isoformat()


@pytest.mark.parametrize("length", ["1h", "12h", "48h"])
def test_the_wait_is_that_of_the_walk(
    site: Path, monkeypatch: pytest.MonkeyPatch, length: str
) -> None:
    """`state FILE` says the same moment as the walk, whose `--confirm-after` it is not given."""
    clock = SetClock(monkeypatch)
    for _ in range(2):
        words = ["--state", "site.db", "--changes", "--confirm-after", length]
        ran = run(site, "site", *words, "--report", "walk.json")
        publish(site, "2")
        clock.now += 49 * HOUR
    told = run(site, "state", "site.db", "--unlisted", "--format", "jsonl")
    report = json.loads((site.parent / "walk.json").read_text("utf-8"))
    moment = report["waits_until"]
    assert json.loads(told.lines[0])["waits_until"] == moment
    expected = f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M} UTC"
    assert (expected in ran.said, expected in told.said) == (True, True)


def test_a_page_that_was_dead_once_is_named_with_its_next_request(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`state --gone` counts the pages that may be gone, and not what waits to be unlisted."""
    clock = SetClock(monkeypatch)
    (site / "2").mkdir()
    (site / "2" / "index.html").write_text("alive")
    words = ["site", "--state", "site.db", "--changes", "--gone", "--format", "jsonl"]
    run(site, *words)
    publish(site, "2")
    clock.now += DAY
    run(site, *words)
    moment = datetime.fromtimestamp(clock.now + 23 * HOUR, UTC)
    told = run(site, "state", "site.db", "--gone").said
    assert (
        "example.org/: not gone yet: 1 page responded with 404 or 410, and must do so again after"
        f" {moment:%Y-%m-%d %H:%M} UTC"
    ) in told
    assert "unlisted" not in told
    clock.now += DAY
    run(site, *words)
    gone = run(site, "state", "site.db", "--gone")
    assert (gone.lines, "not gone yet" in gone.said) == (
        ["https://example.org/1"],
        False,
    )


def test_a_sitemap_that_was_never_there_is_not_waited_for_once_nothing_names_it(
    site: Path,
) -> None:
    """The summary says so, for those who walk too rarely for the patience."""
    dead = "https://example.org/dead.xml"
    words = ["site", "--state", "site.db", "--changes", "--confirm-after", "0"]
    said = []
    for names, children in (("12", [dead]), ("2", [dead]), ("2", []), ("2", [])):
        urls = index("https://example.org/a.xml", *children)
        (site / "sitemap.xml").write_bytes(urls)
        publish(site, *names)
        said.append(run(site, *words).said)
    assert f"because {dead} may list them, and was not read (http-status" in said[1]
    assert "or remove it from robots.txt or its index" in said[1]
    assert "not unlisted yet" not in said[-1]
    assert "/1" in "".join(run(site, "state", "site.db", "--unlisted").lines)


def test_what_is_unlisted_is_counted(site: Path) -> None:
    """The summary says which of the URLs are unlisted; `state` how many it knows, and why."""
    words = [
        "site",
        "--state",
        "site.db",
        "--changes",
        "--unlisted",
        "--format",
        "jsonl",
    ]
    run(site, *words)
    publish(site, "2")
    run(site, *words)
    with closing(sqlite3.connect(site.parent / "site.db")) as db, db:
        # as if it was missed long ago, and all was read on two days since
        db.execute("UPDATE url SET lost_stamp = 1 WHERE lost_stamp > 0")
        db.execute("UPDATE document SET confirmed_stamp = 1")
        db.execute("UPDATE site SET confirmed_stamp = 1")
    assert "1 change (1 unlisted); documents" in run(site, *words).said
    assert "0 URLs; documents" in run(site, *words).said
    assert run(site, "state", "site.db", "--unlisted").lines == [
        "https://example.org/1"
    ]
    assert "complete, 1 unlisted" in run(site, "state", "site.db").lines[1]
    (line,) = run(site, "state", "site.db", "--unlisted", "--format", "jsonl").lines
    row = json.loads(line)
    assert row.pop("since").endswith("+00:00")
    assert row == {
        "loc": "https://example.org/1",
        "document": "https://example.org/a.xml",
        "why": "missing",
        "site": "https://example.org/",
    }


def test_a_missing_url_whose_page_proves_nothing(site: Path) -> None:
    """The listed page beside it is dead: `state` says that, for people and as a field."""
    words = ["site", "--state", "site.db", "--changes", "--gone", "--format", "jsonl"]
    run(site, *words)
    publish(site, "2")
    assert run(site, *words).lines == []
    for kind in ("--unlisted", "--gone"):
        told = run(site, "state", "site.db", kind)
        assert (
            "example.org/: no status of 1 missing URL (dead-neighbor): a " in told.said
        )
    (line,) = run(site, "state", "site.db", "--unlisted", "--format", "jsonl").lines
    row = json.loads(line)
    assert (row["loc"], row["no_status"]) == (
        "https://example.org/1",
        "dead-neighbor",
    )
    assert "http_status" not in row


def test_what_is_lost_by_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --unique a page of one of two sites is unlisted, and gone as well."""
    clock = SetClock(monkeypatch)
    for name in ("org", "net"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "2").write_text("<!DOCTYPE html><title>2</title>")
    words = [
        "org",
        "net",
        "--state",
        "site.db",
        "--changes",
        "--unlisted",
        "--gone",
        "--unique",
    ]
    told = []
    for pages in ("12", "2", "2"):
        for name in ("org", "net"):
            lists = urlset(*(f"https://example.{name}/{page}" for page in pages))
            (tmp_path / name / "sitemap.xml").write_bytes(lists)
        ran = run(tmp_path / "org", *words, "--format", "jsonl")
        told = sorted(
            (row["loc"][8:], row["change"]) for row in map(json.loads, ran.lines)
        )
        clock.now += DAY
    lost = ("gone", "unlisted")
    assert told == [
        (f"example.{name}/1", why) for name in ("net", "org") for why in lost
    ]
    assert "4 changes (2 gone, 2 unlisted) from 2 sources" in ran.said
    shown = run(tmp_path / "org", "state", "site.db").lines
    assert sum("complete, 1 unlisted, 1 gone" in line for line in shown) == 2


def test_a_run_that_did_not_compare(site: Path) -> None:
    """Without --changes nothing is known of what is unlisted, and that is said."""
    run(site, "site", "--state", "site.db")
    ran = run(site, "state", "site.db", "--unlisted")
    assert (ran.code, ran.lines) == (3, [])
    assert "the last run did not compare: use --changes" in ran.said


def test_only_what_is_due(site: Path) -> None:
    """`--revisit` asks for nothing that was just asked for; `--plan` says what is due, and why."""
    words = ["site", "--state", "site.db", "--changes", "--revisit", "1"]
    assert len(run(site, *words).lines) == 2
    publish(site, "2", "3")
    assert run(site, *words).lines == []
    rested = run(site, "state", "site.db", "--plan", "3").lines
    assert [": not before 20" in line for line in rested] == [True, True]
    with closing(sqlite3.connect(site.parent / "site.db")) as db, db:
        db.execute("UPDATE document SET asked_at = 0, rate = 0.5 WHERE id = 2")
        db.execute("UPDATE document SET asked_at = 1, rate = 0.1 WHERE id = 1")
    first, second = run(site, "state", "site.db", "--plan", "3").lines
    asked = "requested 1970-01-01 00:00 UTC"
    url = "https://example.org/"
    assert first.startswith(f"{url}a.xml: ")
    assert first.endswith(
        f" URL-hours of news waiting, 12 URLs new or gone a day, {asked}"
    )
    assert second.startswith(f"{url}sitemap.xml: ")
    assert second.endswith(
        f" URL-hours of news waiting, 2.4 URLs new or gone a day, {asked}"
    )
    assert run(site, *words).lines == ["https://example.org/3"]


def test_what_a_state_holds(site: Path) -> None:
    """`state` names the site, how its last walk went, and each document."""
    run(site, "site", "--state", "site.db", "--changes")
    ran = run(site, "state", "site.db")
    assert ran.code == 0
    assert ran.lines[0] == "https://example.org/"
    assert "complete, 0 unlisted" in ran.lines[1]
    assert "2 URLs to compare with" in ran.lines[2]
    assert any(
        "https://example.org/a.xml: 2 URLs, complete" in line for line in ran.lines
    )
    run(site, "site", "--state", "plain.db")
    planned = run(site, "state", "plain.db", "--plan", "3")
    assert "nothing is planned, because no run used" in planned.said
    missing = run(site, "state", "missing.db")
    assert (missing.code, missing.lines) == (1, [])
    assert "no such file" in missing.said


FOREIGN = "https://cdn.other.example/x.xml"


@pytest.mark.parametrize(
    ("child", "words", "said"),
    [
        ("private/x.xml", [], "skipped (robots-disallowed)"),
        (FOREIGN, [], "skipped (cross-host-child)"),
        ("x.xml", ["--follow", "a.xml"], "skipped (not-followed)"),
    ],
)
def test_what_was_never_read_names_its_reason(
    site: Path, child: str, words: list[str], said: str
) -> None:
    """A child that every walk skips is not one that is being read."""
    (site / "robots.txt").write_text(
        "User-agent: *\nDisallow: /private/\nSitemap: https://example.org/sitemap.xml\n"
    )
    url = child if child == FOREIGN else f"https://example.org/{child}"
    (site / "sitemap.xml").write_bytes(index("https://example.org/a.xml", url))
    for names in (["1", "2"], ["1"]):
        publish(site, *names)
        run(site, "site", "--state", "site.db", "--changes", *words)
    ran = run(site, "state", "site.db")
    assert [line for line in ran.lines if url in line] == [f"    {url}: 0 URLs, {said}"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--changes"], "--changes requires --state"),
        (["--state", "s.db", "--unlisted"], "requires --changes and --state"),
        (["--state", "s.db", "--revisit", "3"], "requires --changes and --state"),
        (["--state", "s.db", "--changes", "--unlisted"], "--format jsonl"),
        (["--state", "s.db", "--format", "parquet"], "-o FILE"),
    ],
)
def test_what_cannot_be_meant(site: Path, words: list[str], said: str) -> None:
    """Options that contradict each other are wrong usage, and the message says what to write."""
    ran = run(site, "site", *words)
    assert ran.code == 2
    assert said in ran.said


def test_a_state_that_cannot_be_written(site: Path) -> None:
    """A place in a file ends with 1 and one line, without a traceback."""
    ran = run(site, "site", "--state", "site/robots.txt/site.db")
    assert ran.code == 1
    assert "state file site/robots.txt/site.db" in ran.said
    assert "Traceback" not in ran.said


def test_a_state_that_another_run_writes(site: Path) -> None:
    """It has an exit code of its own, for a job that is to try again later."""
    opened = StateFile(site.parent / "site.db")
    try:
        for words in (["site"], ["site", "-o", "urls.csv"]):
            ran = run(site, *words, "--state", "site.db")
            assert (ran.code, ran.lines) == (6, [])
            assert "another walk is writing it: wait until it ends" in ran.said
    finally:
        opened.close()
    assert not (site.parent / "urls.csv").exists()
    assert run(site, "site", "--state", "site.db").code == 0


SIGNALLED = """
import os, signal, sys
from sitemapreader._cli import main
from {module} import {owner}

former = {owner}.{name}

def send(*arguments):
    {before}
    result = former(*arguments)
    {after}
    return result

kill = lambda: [os.kill(os.getpid(), getattr(signal, "{number}")) for _ in range({times})]
{owner}.{name} = send
sys.exit(main(["site", "--state", "site.db", "-o", "urls.txt"]))
"""
"""The command, with signals at one of its steps."""
COMMIT = ("sitemapreader.changes.database", "StateFile", "commit_held")
PREPARE = ("sitemapreader.output.sink", "Output", "prepare")


@pytest.mark.slow
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(
    ("step", "before", "after", "code"),
    [
        (PREPARE, "kill()", "", 128),
        (PREPARE, "", "kill()", 128),
        (COMMIT, "kill()", "", 0),
        (COMMIT, "", "kill()", 0),
    ],
)
def test_a_signal_near_the_commit(
    site: Path,
    number: str,
    step: tuple[str, str, str],
    before: str,
    after: str,
    code: int,
) -> None:
    """Before the commit it stops the run, which then has done nothing; then it is too late."""
    output = site.parent / "urls.txt"
    module, owner, name = step
    script = SIGNALLED.format(
        module=module,
        owner=owner,
        name=name,
        before=before or "pass",
        after=after or "pass",
        number=number,
        times=1 if code else 3,
    )
    ran = commands.run_code(script, site.parent)
    assert ran.returncode == (code + signal.Signals[number] if code else 0)
    both = "https://example.org/1\nhttps://example.org/2\n"
    if code:
        assert not output.exists()
    else:
        assert output.read_text("utf-8") == both
    assert "Traceback" not in ran.stderr
    assert run(site, "site", "--state", "site.db", "-o", "later.txt").code == 0
    later = site.parent / "later.txt"
    assert later.read_text("utf-8") == (both if code else "")


@pytest.mark.parametrize(
    ("narrow", "changes"),
    [(["--include", "1$"], []), (["--limit", "1"], ["--changes"])],
)
def test_what_an_option_hid_comes_without_it(
    site: Path, narrow: list[str], changes: list[str]
) -> None:
    """A second run without the filter prints what the first one kept back, and a third nothing."""
    words = ["site", "--state", "site.db", *changes]
    first = run(site, *words, *narrow)
    assert first.lines == ["https://example.org/1"]
    assert "https://example.org/2" in run(site, *words).lines
    assert run(site, *words).lines == []


@pytest.mark.parametrize(
    ("patience", "told"),
    [(["--confirm-after", "0"], 1), (["--confirm-after", "1h"], 0)],
)
def test_how_far_apart_two_readings_are(
    tmp_path: Path, patience: list[str], told: int
) -> None:
    """A URL that is missing is unlisted at once, or after a later run, as the option says."""
    folder = tmp_path / "site"
    folder.mkdir()
    words = [str(folder), "--state", str(tmp_path / "s.db"), "--changes", "--unlisted"]
    words += ["-q", "--format", "jsonl", *patience]
    lines: list[str] = []
    for names in ("ab", "a", "a"):
        urls = "".join(f"<url><loc>http://a.example/{n}</loc></url>" for n in names)
        (folder / "sitemap.xml").write_text(f"<urlset>{urls}</urlset>", "utf-8")
        lines += commands.run(*words).stdout.splitlines()
    assert sum('"change": "unlisted"' in line for line in lines) == told


def test_patience_needs_changes(tmp_path: Path) -> None:
    """Without changes nothing is unlisted."""
    words = [str(tmp_path), "--state", "s.db", "--confirm-after", "1h"]
    done = commands.run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "--confirm-after requires --changes and --state FILE" in done.stderr
