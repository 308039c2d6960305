"""The product's scheduler as a policy of a simulator of sites: `--policy freshness:make`.

The simulator gives numbers of documents, hours, and answers; here they become rows of a state,
observations as a walk makes them, and `schedule.plan`.
"""

from __future__ import annotations

import heapq
import sqlite3
from importlib.resources import files
from typing import Any

import sitemapreader.state
from sitemapreader.state import schedule
from sitemapreader.state.rows import DocumentRow, insert_document
from sitemapreader.state.schedule import Asking, Observations

START = 1_700_000_000.0


class ProductPolicy:
    """Asks what the product's `plan` says; learns by the product's `learn`."""

    def __init__(self, documents: Any, start: Any, budget: float) -> None:
        del budget
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        for name in ("schema.sql", "schedule.sql"):
            script = files(sitemapreader.state).joinpath(name).read_text("utf-8")
            self._db.executescript(script)
        self._documents = documents
        self._sites: dict[int, int] = {}
        self._born: list[int] = []
        self._ends: list[tuple[float, int]] = []
        self._missed: dict[int, float] = {}
        first: dict[int, Observations] = {}
        for doc in start:
            self._insert(doc)
            seen = first.setdefault(doc.site.number, Observations())
            seen.askings[str(doc.number)] = self._ask(doc, START)
        for site, seen in first.items():
            schedule.learn(self._db, site + 1, seen, START)

    def _insert(self, doc: Any) -> None:
        row = DocumentRow(
            None, doc.site.number + 1, str(doc.number), 1, 0, status="complete", read_run=1
        )
        named = (row.site, f"site {row.site}")
        self._db.execute("INSERT OR IGNORE INTO site (id, name) VALUES (?, ?)", named)
        number = insert_document(self._db, row)
        self._sites[doc.number] = number
        heapq.heappush(self._ends, (doc.dies, doc.number))

    @staticmethod
    def _ask(doc: Any, now: float, **more: Any) -> Asking:
        index = "" if doc.parent is None else str(doc.parent.number)
        return Asking(now, index, **more)

    def __call__(self, hours: float, room: int, answers: Any) -> list[int]:
        """Return the documents to ask now."""
        now = START + hours * schedule.HOUR
        by_site: dict[int, list[Any]] = {}
        for answer in answers:
            by_site.setdefault(self._documents[answer.doc].site.number, []).append(answer)
        self._db.execute("BEGIN")
        for site, several in by_site.items():
            self._learn(site, several)
        while self._ends and self._ends[0][0] < hours:
            _, doc = heapq.heappop(self._ends)
            number = self._sites[doc]
            self._db.execute("DELETE FROM schedule WHERE document = ?", (number,))
            self._db.execute("DELETE FROM document WHERE id = ?", (number,))
        self._db.execute("COMMIT")
        if room < 1:
            return []
        asked, self._born = self._born[:room], self._born[room:]
        if room > len(asked):
            chosen = schedule.plan(self._db, room - len(asked), now)
            asked += [int(each.url) for each in chosen]
        return asked

    def _learn(self, site: int, answers: list[Any]) -> None:
        seen, now = Observations(), START
        pending = self._missed.get(site, 0.0)
        for answer in answers:
            doc, now = self._documents[answer.doc], START + answer.now * schedule.HOUR
            if answer.status == 503:
                seen.askings[str(doc.number)] = self._ask(doc, now, is_failed=True)
                continue
            news = answer.new + answer.removed
            seen.askings[str(doc.number)] = self._ask(doc, now, news=news)
            if answer.removed:
                pending = now
            for child in answer.born:
                self._insert(self._documents[child])
                self._born.append(child)
                seen.unread[str(child)] = str(doc.number)
        (oldest,) = self._db.execute(
            "SELECT min(schedule.asked_at) FROM document JOIN schedule"
            " ON schedule.document = document.id WHERE document.site = ? AND NOT failures",
            (site + 1,),
        ).fetchone()
        self._missed[site] = pending = 0.0 if (oldest or 0) > pending else pending
        schedule.learn(self._db, site + 1, seen, now, pending)


def make(documents: Any, start: Any, budget: float) -> ProductPolicy:
    """Make the policy, as the simulator asks for it."""
    return ProductPolicy(documents, start, budget)
