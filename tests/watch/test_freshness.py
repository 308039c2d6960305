"""How soon the schedule sees what is new, beside other policies, in a simulation of sites."""

from __future__ import annotations

import heapq
import sqlite3
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import pytest

from sitemapreader._types.dates import HOUR
from sitemapreader.changes import law, schedule
from sitemapreader.changes.database import read_script
from sitemapreader.changes.rows import (
    DocumentRow,
    WalkRun,
    insert_document,
    load_document,
    update_document,
)
from sitemapreader.changes.schedule import DocumentRequest
from tests.support import package
from tests.support.scale import SCALE

pytestmark = [pytest.mark.slow, pytest.mark.long]

SITES, DAYS, SEED = 60 * SCALE, 40, 515
START = 1_700_000_000.0
LEAST = 23 * 3_600 * 10**9


class ProductPolicy:
    """A policy of the simulator: it asks what the product plans, and has the product learn.

    For its command `--policy test_freshness:ProductPolicy`. The simulator gives numbers of
    documents, hours, and answers; here they become rows of a state and observations.
    """

    def __init__(self, documents: Any, start: Any, budget: float) -> None:
        del budget
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        self._db.executescript(read_script("schema.sql"))
        self._documents = documents
        self._sites: dict[int, int] = {}
        self._born: list[int] = []
        self._lost: dict[int, list[int]] = {}
        self._ends: list[tuple[float, int]] = []
        first: dict[int, dict[str, DocumentRequest]] = {}
        for doc in start:
            self._insert(doc)
            first.setdefault(doc.site.number, {})[str(doc.number)] = self._ask(
                doc, START
            )
        for site, requests in first.items():
            schedule.learn(self._db, self._run(site), requests, {}, START)

    @staticmethod
    def _run(site: int) -> WalkRun:
        return WalkRun(f"site {site + 1}", site=site + 1)

    def _insert(self, doc: Any) -> None:
        run = self._run(doc.site.number)
        row = DocumentRow(None, run.site, str(doc.number), 0)
        self._db.execute(
            "INSERT OR IGNORE INTO site (id, name, ended) VALUES (?, ?, 0)",
            (run.site, run.name),
        )
        self._sites[doc.number] = insert_document(self._db, row)
        heapq.heappush(self._ends, (doc.dies, doc.number))

    @staticmethod
    def _ask(doc: Any, now: float, **more: Any) -> DocumentRequest:
        index = "" if doc.parent is None else str(doc.parent.number)
        return DocumentRequest(now, index, **more)

    def __call__(self, hours: float, room: int, answers: Any) -> list[int]:
        """Return the documents to ask now."""
        now = START + hours * HOUR
        by_site: dict[int, list[Any]] = {}
        for answer in answers:
            by_site.setdefault(self._documents[answer.doc].site.number, []).append(
                answer
            )
        self._db.execute("BEGIN")
        for site, several in by_site.items():
            self._learn(site, several)
        while self._ends and self._ends[0][0] < hours:
            _, doc = heapq.heappop(self._ends)
            self._db.execute("DELETE FROM document WHERE id = ?", (self._sites[doc],))
        self._db.execute("COMMIT")
        if room < 1:
            return []
        asked, self._born = self._born[:room], self._born[room:]
        if room > len(asked):
            chosen = schedule.plan(self._db, room - len(asked), now)
            asked += [int(each.url) for each in chosen]
        return asked

    def _learn(self, site: int, answers: list[Any]) -> None:
        requests: dict[str, DocumentRequest] = {}
        now, run = START, self._run(site)
        lost = self._lost.setdefault(site, [])
        for answer in answers:
            doc, now = self._documents[answer.doc], START + answer.now * HOUR
            if answer.status == 503:
                requests[str(doc.number)] = self._ask(doc, now, is_failed=True)
                continue
            news = answer.new + answer.removed
            requests[str(doc.number)] = self._ask(doc, now, news=news)
            row, stamp = load_document(self._db, run, str(doc.number)), round(now * 1e9)
            read, confirmed = law.confirm(
                row.read_stamp, row.confirmed_stamp, stamp, LEAST
            )
            update_document(
                self._db, row, {"read_stamp": read, "confirmed_stamp": confirmed}
            )
            lost += [stamp] if answer.removed else []
            for child in answer.born:
                self._insert(self._documents[child])
                self._born.append(child)
                requests[str(child)] = DocumentRequest(index=str(doc.number))
        sql = "SELECT min(confirmed_stamp) FROM document WHERE site = ?"
        (oldest,) = self._db.execute(sql, (run.site,)).fetchone()
        self._lost[site] = lost = [each for each in lost if each > (oldest or 0)]
        sql = "UPDATE site SET lost_stamp = ? WHERE id = ?"
        self._db.execute(sql, (min(lost, default=0), run.site))
        schedule.learn(self._db, run, requests, {}, now)


@pytest.fixture
def simulator() -> Any:
    """Return the simulator, which lies beside the checkout."""
    path = package.ROOT.parent / "shared" / "reference" / "freshness_simulation.py"
    spec = spec_from_file_location("freshness_simulation", path)
    if spec is None or spec.loader is None or not path.exists():
        pytest.skip("there is no simulator beside the checkout")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    # It asks each half hour: each five minutes cost five times as much, for the same ratios.
    vars(module)["TICK"] = 1 / 2
    return module


def test_news_are_seen_soon(simulator: Any) -> None:
    """At equal requests: an eleventh of a fixed interval's delay, 0.45 of StormCrawler's policy."""
    # So much in this world. 1,000 sites in a year: 0.148 and 0.56.
    world = simulator.make_world(SITES, DAYS, SEED)
    makers = {
        "ours": ProductPolicy,
        "fixed": simulator.Fixed,
        "storm": simulator.Adaptive,
    }
    delays = {
        name: simulator.simulate(world, DAYS, 1.0, make).new.describe()[0]
        for name, make in makers.items()
    }
    assert delays["ours"] <= delays["fixed"] / 11
    assert delays["ours"] <= delays["storm"] * 0.45
