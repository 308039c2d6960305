"""Builds of real publishing software: is each read, judged and followed as it is meant?

    python benchmarks/generators.py [NAME ...] [--cache FOLDER] [--json FILE]

Installs the generators of `generators.toml` in a folder, which takes minutes and a network. Builds
a correct small site with each, then a second state of it, and checks both:

- found: a walk over the built folder lists every page that is published, and no other
- folder, server: an audit has no finding that is not true; all pages of a server are visited
- changes: a walk with a state over the server, after the second build, delivers the new and the
  changed pages, and reports the removed ones as unlisted
- recipe: the command of docs/builds.md passes, and finds each usual mistake

A generator that cannot be installed or built is named with the reason. Exit code 1: a check failed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import attrs
from generator_sites import Generator, GeneratorError, build, install, load_generators
from tables import print_table, write_json

from sitemapreader import Changes, FetchOptions, State, walk_sync
from sitemapreader.audit import audit_sync
from sitemapreader.fetch import FolderFetcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from generator_sites import Recipe, Workshop

    from sitemapreader.audit import Finding

CHECKS = ("found", "folder", "server", "changes", "recipe")
HEAD = ("generator", "version", "pages", *CHECKS)
ROOT = Path(__file__).resolve().parent.parent
_OUTSIDE = ".not-below-the-base"
_ABOUT_US = frozenset({"host-mapped"})
"""Findings that say how we asked."""


# -- a server on loopback


class StaticHost(SimpleHTTPRequestHandler):
    """Handler that serves a built folder as static hosts do.

    `/about` is `about.html`, a folder redirects to its final slash, and what is not there gets
    `404.html` with status 404.
    """

    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: object, base: str, directory: str) -> None:
        self._base = base
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type] # as it is called

    def translate_path(self, path: str) -> str:
        """Return the file of a path."""
        path = unquote(urlsplit(path).path)
        if not path.startswith(self._base):
            return f"{self.directory}/{_OUTSIDE}"
        file = Path(self.directory, path.removeprefix(self._base))
        page = file.with_name(f"{file.name}.html")
        if page.is_file() and not path.endswith("/"):
            return str(page)
        return f"{file}/" if path.endswith("/") else str(file)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Send the error page of the site."""
        page = Path(self.directory, "404.html")
        if code != HTTPStatus.NOT_FOUND or not page.is_file():
            super().send_error(code, message, explain)
            return
        body = page.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def list_directory(self, path: object) -> None:
        """Send no list of files."""
        del path
        self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serve(folder: Path, base: str) -> Iterator[str]:
    """Serve a built folder below the path of its base URL; give the origin."""
    handler = partial(StaticHost, base=urlsplit(base).path, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def open_server(
    generator: Generator, workshop: Workshop, folder: Path
) -> Iterator[str]:
    """Serve a site, by the software itself if it is a server; give the origin."""
    if not generator.serve:
        with serve(folder, generator.base) as origin:
            yield origin
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = workshop.start(generator.serve.format(port=port))
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int) -> None:
    """Wait until a server listens."""
    for _ in range(300):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)


# -- the checks


_MARKS = {True: "right", False: "wrong", None: "-"}


@attrs.define
class Result:
    """The result of one generator: whether each check was right, and what is wrong."""

    generator: Generator
    checks: dict[str, bool] = attrs.field(factory=dict)
    faults: list[str] = attrs.field(factory=list)

    def note(self, check: str, faults: Iterable[str]) -> None:
        """Record what is wrong by a check, or that nothing is."""
        found = [f"{check}: {fault}" for fault in faults]
        self.checks[check] = self.checks.get(check, True) and not found
        self.faults += [fault for fault in found if fault not in self.faults]

    def list_cells(self) -> list[str]:
        """Return the row of the table."""
        generator = self.generator
        marks = [_MARKS[self.checks.get(check)] for check in CHECKS]
        return [generator.title, generator.version, str(len(generator.pages)), *marks]


def compare(found: Iterable[str], wanted: Iterable[str]) -> Iterator[str]:
    """Yield how a set of URLs differs from what it has to be."""
    found, wanted = {*found}, {*wanted}
    for what, urls in (("not found", wanted - found), ("invented", found - wanted)):
        if urls:
            yield f"{what} {' '.join(sorted(urls))}"


def judge_walk(result: Result, pages: frozenset[str], **how: Any) -> None:
    """Check what a walk finds on a site."""
    generator = result.generator
    with walk_sync(generator.base, **how) as entries:
        listed = [entry.loc for entry in entries]
    result.note("found", compare(listed, generator.find_urls(pages)))


def judge_folder(result: Result, folder: Path) -> None:
    """Check what an audit says of a built folder."""
    generator = result.generator
    # a project page has to be found without its base URL
    with audit_sync(folder) as found:
        result.note("folder", _list_findings(generator, found.findings))
        if found.facts.base_url != generator.base:
            result.note("folder", [f"its base is taken for {found.facts.base_url}"])


def judge_server(result: Result, host: dict[str, str]) -> None:
    """Check what an audit of all pages says of a server."""
    base = result.generator.base
    with audit_sync(base, pages="all", options=FetchOptions(map_hosts=host)) as found:
        result.note("server", _list_findings(result.generator, found.findings))
        if not found.facts.pages or found.facts.pages.judged < found.facts.pages.listed:
            result.note("server", ["not all pages were judged"])


def _list_findings(generator: Generator, findings: Iterable[Finding]) -> Iterator[str]:
    for each in findings:
        code = each.rule.code
        if code not in generator.true.keys() | _ABOUT_US:
            shown = " ".join(
                f"{hit.url} {hit.detail}".strip() for hit in each.examples[:2]
            )
            yield f"{each.severity} {code} {each.count} {shown}"


def follow(result: Result, host: dict[str, str], state: Path, first: bool) -> None:
    """Check what a walk with a state says of the second build, or begin with the first."""
    generator = result.generator
    changes: dict[str, set[str]] = {"new": set(), "changed": set()}
    memory = State(state, confirm_after=timedelta(0))
    with walk_sync(
        generator.base, state=Changes(memory), options=FetchOptions(map_hosts=host)
    ) as entries:
        for entry in entries:
            changes[str(entry.change)].add(entry.loc)
        unlisted = {row.loc for row in entries.unlisted()}
    if first:
        return
    by_clock = generator.find_urls(generator.dated_by_build - generator.changed)
    for what, found, wanted in (
        ("new", changes["new"], generator.added),
        ("changed", changes["changed"] - by_clock, generator.changed),
        ("unlisted", unlisted, generator.removed),
    ):
        faults = compare(found, generator.find_urls(wanted))
        result.note("changes", (f"{what}: {fault}" for fault in faults))


def try_recipe(result: Result, recipe: Recipe, workshop: Workshop) -> None:
    """Check that the command passes a right build, and finds each usual mistake."""
    generator = result.generator
    added = dict.fromkeys(generator.later.keys() - generator.files.keys(), "")
    for mistake in (None, *recipe.mistakes):
        wrong = {}
        if mistake is not None:
            right = generator.files[mistake.file]
            wrong[mistake.file] = right.replace(mistake.right, mistake.wrong)
        try:
            folder = build(generator, workshop, added, generator.files, wrong)
        except GeneratorError as error:
            result.note("recipe", [f"not built: {error}"])
            continue
        with open_server(generator, workshop, folder) as origin:
            code, said = run_command(generator.write_command(origin), workshop.site)
        if mistake is None:
            result.note("recipe", [said] if code else [])
        elif not code or f"[{mistake.finds}]" not in said:
            result.note("recipe", [f"{mistake.finds} is not found: {said}"])


def run_command(command: str, folder: Path) -> tuple[int, str]:
    """Run `sitemapreader` in a folder; return its exit code and what it says, on one line."""
    _, *words = shlex.split(command)
    ended = subprocess.run(
        [sys.executable, "-m", "sitemapreader", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, " ".join((ended.stdout + ended.stderr).split())


def check(generator: Generator, cache: Path) -> Result:
    """Install a generator, build its site twice, and check both."""
    result = Result(generator)
    try:
        workshop = install(generator, cache)
    except GeneratorError as error:
        result.faults.append(f"not installed: {error}")
        return result
    state = cache / f"{generator.name}.db"
    for suffix in ("", "-wal", "-shm"):
        state.with_name(state.name + suffix).unlink(missing_ok=True)
    later = generator.pages - generator.removed | generator.added
    added = dict.fromkeys(generator.later.keys() - generator.files.keys(), "")
    states = ((generator.pages, (generator.files,)), (later, (generator.later,)))
    for name in added:
        (workshop.site / name).unlink(missing_ok=True)
    for number, (pages, files) in enumerate(states):
        try:
            folder = build(generator, workshop, *files)
        except GeneratorError as error:
            result.faults.append(f"not built: {error}")
            return result
        with open_server(generator, workshop, folder) as origin:
            host = {generator.base.removesuffix(urlsplit(generator.base).path): origin}
            if generator.serve:
                judge_walk(result, pages, options=FetchOptions(map_hosts=host))
            else:
                fetcher = FolderFetcher(folder, generator.base)
                judge_walk(result, pages, fetcher=fetcher)
                judge_folder(result, folder)
            judge_server(result, host)
            follow(result, host, state, first=number == 0)
    if generator.recipe is not None:
        try_recipe(result, generator.recipe, workshop)
    return result


def main() -> None:
    """Check the generators, and print a table."""
    table = load_generators()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(table)}"
    )
    parser.add_argument(
        "--cache", type=Path, help="folder of the installations, which is kept"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if unknown := {*arguments.names} - table.keys():
        parser.error(
            f"there is no {', '.join(unknown)}: choose from {', '.join(table)}"
        )
    with tempfile.TemporaryDirectory(prefix="generators-") as temporary:
        cache = (arguments.cache or Path(temporary)).resolve()
        results = []
        for name in arguments.names or table:
            print(f"{name} ...", file=sys.stderr, flush=True)
            results.append(check(table[name], cache))
    rows = [result.list_cells() for result in results]
    print_table("What publishing software builds", HEAD, rows)
    for result in results:
        for fault in result.faults:
            print(f"{result.generator.name}: {fault}")
    described = [
        {**dict(zip(HEAD, row, strict=True)), "faults": result.faults}
        for row, result in zip(rows, results, strict=True)
    ]
    write_json(arguments.json, {"results": described})
    sys.exit(any(result.faults for result in results))


if __name__ == "__main__":
    main()
