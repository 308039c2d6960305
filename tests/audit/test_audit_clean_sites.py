"""Clean sites behind what keeps us from their pages, or leads us elsewhere, are not accused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
import pytest
from aiohttp import web

from tests.audit.page_audits import OPTIONS, WORDS, hits, judge, page, publish
from tests.support.certificates import believe, make_server_context, write_certificate
from tests.support.serving import answer, serve_pages
from tests.support.there import known

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """End the pauses of hosts at once when they are over."""
    monkeypatch.setattr("sitemapreader.pages.client._PAUSE_CHECK_SECONDS", 0.01)


def gate(request: web.Request) -> Any:
    return web.Response(
        status=302, headers={"Location": f"/consent?back={request.path}"}
    )


def language(request: web.Request) -> Any:
    return web.Response(status=302, headers={"Location": f"/de{request.path}"})


def language_parameter(request: web.Request) -> Any:
    if "lang" in request.query:
        return page()
    return web.Response(status=307, headers={"Location": f"{request.path}?lang=pt-BR"})


WAITS = {"asked-to-wait"}
GATES: dict[str, tuple[Any, set[str]]] = {
    "consent": (gate, {"gate"}),
    "language": (language, {"language"}),
    "language in a parameter": (language_parameter, {"language"}),
    # a host that refuses some pages is given up
    "Cloudflare": (answer(403, cf_mitigated="challenge"), {"protection"} | WAITS),
    "AWS": (answer(202, x_amzn_waf_action="challenge"), {"protection"} | WAITS),
    "403": (403, {"protection"} | WAITS),
    "429": (429, WAITS),
    "503, in an hour": (answer(503, Retry_After="3600"), WAITS),
    "503": (503, {"network", "given-up"}),
}
FEW = [(name, 3) for name in ("consent", "403", "503")]


@pytest.mark.parametrize(("name", "number"), [*((name, 12) for name in GATES), *FEW])
async def test_a_clean_site_behind_a_gate_is_not_accused(
    name: str, number: int
) -> None:
    """Consent, a language, a bot wall, a server that asks to wait or is down: no page is at fault.

    Where a server asks for an hour, nobody waits.
    """
    found, reasons = GATES[name]
    paths = [f"{x}/{x}{x}" if number > 3 else x for x in "abcdefghijkl"[:number]]
    options = attrs.evolve(OPTIONS, host_pause_seconds=0.01)
    answers: dict[str, Any] = dict.fromkeys(paths, found)
    answers |= {f"de/{path}": page() for path in paths} | {"consent": page()}
    async with serve_pages(**answers) as server:
        publish(server, *paths)
        with await judge(server.base, options=options) as result:
            assert hits(result) == {}
            assert known(result.facts.pages).not_judged.keys() <= reasons
            said = {each.rule.code: each.reason for each in result.facts.not_run}
            assert (
                f"only 0 of {len(paths)} pages could be judged"
                in said["page-not-found"]
            )


@pytest.mark.parametrize("status", [403, 503])
async def test_a_host_that_had_enough(status: int) -> None:
    """What a host answers after it has had enough of us says nothing; what came before counts."""
    asked: set[str] = set()

    def answer_some(request: web.Request) -> Any:
        asked.add(request.path)
        return page() if len(asked) <= 30 else web.Response(status=status)

    options = attrs.evolve(OPTIONS, host_pause_seconds=0.01)
    paths = [f"x/{number}" for number in range(40)]
    async with serve_pages(**dict.fromkeys(paths, answer_some)) as server:
        publish(server, *paths)
        with await judge(server.base, options=options) as result:
            assert {finding.severity for finding in result.findings} <= {"info"}
            assert known(result.facts.pages).judged >= 29


@pytest.mark.parametrize("status", [200, 301, 302])
async def test_a_start_page_for_what_is_not_there(status: int) -> None:
    """A site that shows its start page for made-up paths, or leads there, has no soft 404.

    Pages without words are made in the browser: nothing is known of them.
    """
    paths = ["", *(f"p{number}" for number in range(9))]
    answers: dict[str, Any] = {path: page(text=f"{WORDS} {path}") for path in paths}
    shell = page("<script src=/app.js></script>", text="")
    answers |= {"blank/1": shell, "blank/2": page(), "blank/3": shell}
    async with serve_pages(**answers) as server:

        def lead(request: web.Request) -> Any:
            if request.path.startswith("/blank/"):
                return page(text="")
            return answers[""] if status == 200 else answer(status, Location="/")

        server.default = lead
        publish(server, *answers)
        with await judge(server.base) as result:
            assert hits(result) == {}


async def test_what_is_slow_or_fails_once() -> None:
    """A server that refuses HEAD, and is slow and broken once for each page, is clean."""
    asked: set[str] = set()

    async def begin(request: web.Request) -> Any:
        is_first = request.path not in asked
        asked.add(request.path)
        if request.method == "HEAD":
            return web.Response(status=405)
        if is_first and request.path.startswith("/slow"):
            await asyncio.sleep(1.1)
            return page()
        return web.Response(status=500) if is_first else page()

    paths = [
        f"{kind}/{number}" for number in range(4) for kind in ("slow", "fine", "broken")
    ]
    answers = {path: page() if path.startswith("fine") else begin for path in paths}
    async with serve_pages(**answers) as server:
        publish(server, *paths)
        with await judge(server.base) as result:
            assert hits(result) == {}
            assert known(result.facts.pages).judged == 12


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_redirect_to_https_in_front_of_all(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site that lists what it redirects to, from http or another name, is clean."""
    certificate = write_certificate(tmp_path / "localhost.pem")
    believe(monkeypatch, certificate)
    paths = [f"p/{number}" for number in range(6)]
    async with (
        serve_pages(make_server_context(certificate)) as site,
        serve_pages() as front,
    ):
        site.base = site.base.replace("127.0.0.1", "localhost")
        publish(site, *paths)
        site.pages |= {
            f"/{path}": page(f"<link rel=canonical href={site.base}{path}>")
            for path in paths
        }
        front.default = lambda request: web.Response(
            status=301, headers={"Location": f"{site.base}{request.path[1:]}"}
        )
        ports = tuple(urlsplit(server.base).port or 0 for server in (site, front))
        options = attrs.evolve(
            OPTIONS, allow_networks=("127.0.0.0/8",), allow_ports=ports
        )
        asked = front.base.replace("127.0.0.1", host)
        with await judge(asked, options=options, select=["pages", "hosts"]) as result:
            assert hits(result) == {}
            assert known(result.facts.pages).judged == 6
