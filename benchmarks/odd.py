"""Read odd documents with every library; count lost and invented URLs.

    pip install -e '.[bench]' && npm install --prefix benchmarks
    python benchmarks/odd.py [--only sitemapreader usp ...] [--json FILE]

The documents are served over loopback, each with a robots.txt. A case is read right if exactly the
URLs that the author meant come out; percent-encoding and repeats do not matter. `2/3` is the number
of these that came, `+1` the number that nobody wrote, `!` means that the library raised.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from contestants import COLLECTORS, make_command, version_of
from measuring import describe_machine, run_once
from odd_cases import GROUPS, ORIGIN, Case
from site_server import Page, serve
from tables import print_machine, print_table, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS_PER_LIBRARY = 600
PUBLIC_NAME = "www.example.com"
WANTS_A_NAME = ("trafilatura",)
"""Who drops every URL whose host has no public suffix; the adapter knows where it leads."""
CASES = [(group, case) for group, cases in GROUPS.items() for case in cases]


class Reading(NamedTuple):
    """The result of a library for one case."""

    meant: int
    found: int
    invented: int
    error: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the URLs are right; there may be an exception too."""
        return self.found == self.meant and not self.invented

    def __str__(self) -> str:
        if self.is_right:
            return "right !" if self.error else "right"
        invented = f" +{self.invented}" if self.invented else ""
        return f"{self.found}/{self.meant}{invented}{' !' if self.error else ''}"


def make_site(origin: str) -> dict[str, Page]:
    """Make all the documents, a folder for each case, numbered."""
    site = {}
    for number, (_, case) in enumerate(CASES):
        folder = f"/{number}"
        address = f"{origin}{address_of(number, case)}"
        site[f"{folder}/robots.txt"] = Page(f"Sitemap: {address}\n".encode(), {})
        headers = {"Content-Type": case.type, **case.headers}
        site[f"{folder}/{case.name}"] = Page(
            case.make(place(case.text, origin, number)), headers
        )
        for name, text in case.others.items():
            data = place(text, origin, number).encode()
            site[f"{folder}/{name}"] = Page(data, {"Content-Type": "application/xml"})
    return site


def address_of(number: int, case: Case) -> str:
    """Return the path of a case."""
    return f"/{number}/{case.name}"


def place(text: str, origin: str, number: int) -> str:
    """Put a document where it is served."""
    return text.replace(f"{ORIGIN}/@/", f"{origin}/{number}/").replace(ORIGIN, origin)


def collect(library: str, origin: str) -> tuple[dict[str, tuple[list[str], str]], str]:
    """Have a library read all cases; return the results, and why it ended early."""
    command = make_command("contestant.py", "collect", library)
    urls = "\n".join(
        f"{origin}{address_of(n, case)}" for n, (_, case) in enumerate(CASES)
    )
    output, fault = run_once(command, seconds=SECONDS_PER_LIBRARY, stdin=urls)
    answers = map(json.loads, output.splitlines())
    return {url: (found, error) for url, found, error in answers}, fault


def judge(case: Case, origin: str, found: Sequence[str], error: str) -> Reading:
    """Compare the found URLs with the meant ones."""
    meant = {unquote(f"{origin}{path}") for path in case.meant}
    urls = {unquote(str(url).strip()) for url in found}  # some give null
    return Reading(len(meant), len(meant & urls), len(urls - meant), error)


def read_all(libraries: Sequence[str]) -> dict[str, list[Reading]]:
    """Have each library read every case."""
    readings = {}
    for library in libraries:
        host = PUBLIC_NAME if library in WANTS_A_NAME else "127.0.0.1"
        with serve(make_site, host=host) as origin:
            answers, fault = collect(library, origin)
        unread: tuple[list[str], str] = ([], fault or "no answer")
        readings[library] = [
            judge(
                case,
                origin,
                *answers.get(f"{origin}{address_of(number, case)}", unread),
            )
            for number, (_, case) in enumerate(CASES)
        ]
    return readings


def summarise(readings: dict[str, list[Reading]]) -> list[tuple[object, ...]]:
    """Count, for each library, cases and URLs."""
    return [
        (
            library,
            sum(reading.is_right for reading in of_all),
            sum(0 < reading.found < reading.meant for reading in of_all),
            sum(not reading.found and reading.meant > 0 for reading in of_all),
            sum(reading.invented > 0 for reading in of_all),
            sum(bool(reading.error) for reading in of_all),
        )
        for library, of_all in readings.items()
    ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument(
        "--only", nargs="+", choices=COLLECTORS, default=list(COLLECTORS)
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    machine = describe_machine(COLLECTORS[name].package for name in arguments.only)
    print_machine(machine)
    present = [name for name in arguments.only if version_of(COLLECTORS[name].package)]
    readings = read_all(present)
    absent = [name for name in arguments.only if name not in present]
    cells = zip(*readings.values(), strict=True) if readings else [()] * len(CASES)
    rows = [
        (group, case.what, *map(str, found), *["not installed"] * len(absent))
        for (group, case), found in zip(CASES, cells, strict=True)
    ]
    print_table(
        "What came out of what was meant", ("about", "case", *present, *absent), rows
    )
    head = ("library", "right", "in part", "all lost", "invented", "raised")
    summary = [*summarise(readings), *((name, *[None] * 5) for name in absent)]
    print_table(f"Of {len(CASES)} odd documents", head, summary)
    write_json(
        arguments.json,
        {
            "machine": machine,
            "results": [
                {
                    "library": library,
                    "about": group,
                    "case": case.what,
                    **reading._asdict(),
                }
                for library, of_all in readings.items()
                for (group, case), reading in zip(CASES, of_all, strict=True)
            ],
            "not installed": absent,
        },
    )


if __name__ == "__main__":
    main()
