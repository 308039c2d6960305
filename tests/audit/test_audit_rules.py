"""Each rule of an audit: a site that it hits, and one that it just does not."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import FetchOptions, IssueCode
from sitemapreader._many.sources import SiteKind, SiteTask
from sitemapreader._types.counts import count_units
from sitemapreader.audit import AuditOptions, audit_sync
from sitemapreader.audit.api import AuditRun
from sitemapreader.audit.database import AuditDatabase
from sitemapreader.audit.rules import load_rules, plan_rules
from sitemapreader.audit.sources import ReadingOptions, load_known
from sitemapreader.audit.visits import SiteVisits
from sitemapreader.fetch import StoredResponse
from tests.support.auditing import (
    HOST,
    NOW,
    AuditedSite,
    TimedResponse,
    image,
    index,
    link,
    news,
    page,
    pages,
    served,
    site,
    sitemaps,
    urlset,
    video,
)
from tests.support.walking import fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemapreader.audit.values import Finding, NotRun

DAY = "2026-10-{:02}T10:00:00Z"
OTHER = "https://other.example"
DEAD = "https://dead.example"
HTTP = "http://www.shop.example"


def listed(paths: str, known: str = "") -> AuditedSite:
    """Make a site of some URLs, between blanks, and known ones."""
    urls = tuple(HOST + path for path in known.split())
    return site("".join(map(page, paths.split())), known=urls or None)


def named(name: str, answer: bytes | StoredResponse) -> AuditedSite:
    """Make a site whose robots.txt names one sitemap, by its path or URL."""
    url = name if "://" in name else HOST + name
    return AuditedSite({"/robots.txt": f"Sitemap: {url}".encode(), name: answer})


def answers(body: bytes, **headers: str) -> AuditedSite:
    """Make a site whose sitemap is served with some headers."""
    return named("/s.xml", served(body, **headers))


def timed(seconds: float) -> AuditedSite:
    """Make a site whose server takes its time."""
    return named(
        "/s.xml", TimedResponse(f"{HOST}/s.xml", urlset(pages(1)), wait_seconds=seconds)
    )


def children(*dates: str) -> AuditedSite:
    """Make an index of sitemaps with a page each, and their dates in the index."""
    root = index(*((f"/{n}.xml", date) for n, date in enumerate(dates)))
    return sitemaps(root, **{str(n): urlset(page(f"/{n}")) for n in range(len(dates))})


def languages(*others: str, back: bool = True) -> str:
    """Write an English and a German page that link to each other, or not."""
    both = link("en", "/en") + link("de", "/de") + "".join(others)
    return page("/en", more=both) + page(
        "/de", more=both if back else link("de", "/de")
    )


CASES: dict[str, tuple[AuditedSite, int, AuditedSite]] = {
    # -- discovery
    "robots-no-sitemap-line": (
        AuditedSite(
            {"/robots.txt": b"User-agent: *", "/sitemap.xml": urlset(pages(1))}
        ),
        1,
        site(pages(1)),
    ),
    "robots-sitemap-broken": (
        site(pages(1), f"Sitemap: {HOST}/gone.xml"),
        1,
        site(
            pages(1),
            f"Sitemap: {HOST}/closed.xml",
            documents={"/closed.xml": StoredResponse("", urlset(pages(1)))},
        ),
    ),
    "sitemap-redirects": (
        named("/s.xml", StoredResponse(f"{HOST}/moved.xml", urlset(pages(1)))),
        1,
        named(
            "/s.xml",
            StoredResponse("HTTPS://WWW.shop.example:443/s.xml", urlset(pages(1))),
        ),
    ),
    "sitemap-insecure": (
        named("http://www.shop.example/s.xml", urlset(pages(3))),
        1,
        named("http://www.shop.example/s.xml", urlset(page("/a") + page(f"{HTTP}/b"))),
    ),
    "robots-blocked-sitemap": (
        site(pages(1), "User-agent: Googlebot\nDisallow: /s.xml"),
        1,
        site(pages(1), "User-agent: Bingbot\nDisallow: /s.xml"),
    ),
    # -- index
    "index-lastmod-missing": (children("", ""), 1, children("", "2026-11-01")),
    "index-lastmod-older": (
        sitemaps(
            index(("/a.xml", "2026-11-01")), a=urlset(page("/", "2026-11-02T14:00:00Z"))
        ),
        1,
        sitemaps(
            index(("/a.xml", "2026-11-01")), a=urlset(page("/", "2026-11-02T13:59:00Z"))
        ),
    ),
    "index-lastmod-all-equal": (
        children(*["2026-11-22T11:45:00Z"] * 10),
        1,
        children(*["2026-11-22T11:44:59Z"] * 10),
    ),
    "index-tiny-children": (children(*[""] * 20), 1, children(*[""] * 19)),
    # -- response
    "response-content-type": (
        answers(urlset(pages(1)), content_type="text/html; charset=utf-8"),
        1,
        answers(urlset(pages(1)), content_type="TEXT/xml; charset=utf-8"),
    ),
    "response-not-compressed": (
        answers(urlset(pages(1)) + b" " * 1_048_576),
        1,
        answers(urlset(pages(1))),
    ),
    "response-not-gzip": (
        named("/s.xml.gz", urlset(pages(1))),
        1,
        named("/s.xml.gz", gzip.compress(urlset(pages(1)))),
    ),
    "response-no-validator": (
        answers(urlset(pages(1)), etag=""),
        1,
        answers(
            urlset(pages(1)), etag="", last_modified="Sun, 22 Nov 2026 10:00:00 GMT"
        ),
    ),
    "response-slow": (timed(3.1), 1, timed(3)),
    "near-protocol-limit": (
        site(pages(11), figures={"near_urls": 10}),
        1,
        site(pages(10), figures={"near_urls": 10}),
    ),
    # -- freshness
    "lastmod-missing-all": (site(pages(20)), 1, site(pages(19))),
    "lastmod-missing-some": (
        site(pages(18, DAY) + pages(2, folder="/b/")),
        1,
        site(pages(19, DAY) + pages(1, folder="/b/")),
    ),
    "lastmod-all-equal": (
        site(pages(19, "2026-11-01") + page("/b", "2026-11-02")),
        1,
        site(
            pages(18, "2026-11-01")
            + page("/b", "2026-11-02")
            + page("/c", "2026-11-03")
        ),
    ),
    "lastmod-is-build-time": (
        site(pages(11, "2026-11-22T11:59:{:02}Z") + pages(9, DAY, folder="/b/")),
        1,
        site(pages(10, "2026-11-22T11:59:{:02}Z") + pages(10, DAY, folder="/b/")),
    ),
    "lastmod-future": (
        site(page("/a", "2026-11-23T12:00:01Z")),
        1,
        site(page("/a", "2026-11-23T12:00:00Z")),
    ),
    "lastmod-no-zone": (
        site(page("/a", "2026-11-01T10:00:00")),
        1,
        site(page("/a", "2026-11-01T10:00:00+01:00") + page("/b", "2026-11-01")),
    ),
    "lastmod-stale": (
        site(pages(11, "2023-11-{:02}") + pages(9, DAY, folder="/b/")),
        1,
        site(pages(10, "2023-11-{:02}") + pages(10, DAY, folder="/b/")),
    ),
    "changefreq-without-lastmod": (
        site(pages(11, more="<changefreq>daily</changefreq>") + pages(9, folder="/b/")),
        1,
        site(pages(10, more="<priority>0.3</priority>") + pages(10, folder="/b/")),
    ),
    # -- duplicates
    "duplicate-within-sitemap": (listed("/a /b /a#x /a"), 1, listed("/a /a/ /A")),
    "duplicate-across-sitemaps": (
        sitemaps(index("/a.xml", "/b.xml"), a=urlset(page("/x")), b=urlset(page("/x"))),
        1,
        sitemaps(
            index("/a.xml", "/b.xml", "/c.xml"),
            a=urlset(page("/x")),
            b=b"<rss><channel><item><link>%b/x</link></item></channel></rss>"
            % HOST.encode(),
            c=urlset(page("/x", more=news())),
        ),
    ),
    "duplicate-lastmod-conflict": (
        site(page("/a", "2026-11-01") + page("/a", "2026-11-02")),
        1,
        site(page("/a", "2026-11-01") + page("/a", "2026-11-01T00:00:00Z")),
    ),
    "variant-scheme": (
        listed("/a http://www.shop.example/a/"),
        1,
        listed("/a http://www.shop.example/b"),
    ),
    "variant-www": (
        listed("/a https://shop.example/a"),
        1,
        listed("/a https://m.shop.example/a"),
    ),
    "variant-trailing-slash": (
        listed("/a /a/"),
        1,
        listed("/a /b/ https://www.shop.example /"),
    ),
    "variant-case": (listed("/Boots /boots"), 1, listed("/Boots /boot /b?x=A /b?x=a")),
    "variant-index": (
        listed("/ /index.html /a/ /a/INDEX.php /b /b/default.aspx"),
        3,
        listed("/ /a/index.html /b/ /c/index.html?x=1 /c/ /index"),
    ),
    "variant-parameters": (
        listed("/a?utm_source=mail /a /a?x=1"),
        1,
        listed("/a?color=red /a"),
    ),
    # -- hosts
    "host-other": (
        site(page("/a") + page(f"{OTHER}/b") + page(f"{OTHER}/c")),
        2,
        site(
            page("/a") + page(f"{OTHER}/b") + page("https://shop.example/c"),
            documents={f"{OTHER}/robots.txt": f"Sitemap: {HOST}/s.xml".encode()},
        ),
    ),
    "host-mixed-www": (
        listed("/a https://shop.example/b"),
        1,
        listed("/a https://m.shop.example/b"),
    ),
    "scheme-http": (
        listed("/1 /2 http://www.shop.example/x"),
        1,
        listed("/1 http://www.shop.example/x"),
    ),
    "host-not-public": (
        listed("/a http://localhost:8000/b https://10.0.0.1/c"),
        2,
        listed("/a https://dev.example/"),
    ),
    # -- robots
    "robots-blocked-url": (
        # as written, escaped, and with an escape that is no UTF-8; `$$` ends as `$` does
        site(
            page("/cart/1")
            + page("/c%61rt/2")
            + page("/cart/%FF")
            + page("/a?b$")
            + page("/a"),
            "User-agent: *\nDisallow: /cart/\nDisallow: /a?b$$",
        ),
        4,
        site(
            page("/cart") + page("/%FF") + page("/a%25"),
            "User-agent: *\nDisallow: /cart/",
        ),
    ),
    "robots-blocks-site": (
        site(page("/a") + page("/b?c"), "User-agent: *\nDisallow: /\nAllow: /s.xml"),
        1,
        site(
            page("/shop/a"), "User-agent: *\nDisallow: /\nAllow: /shop/\nAllow: /s.xml"
        ),
    ),
    "robots-blocked-image": (
        site(
            page("/a", more=image(f"{HOST}/img/1.jpg")),
            "User-agent: *\nDisallow: /img/",
        ),
        1,
        site(
            page("/a", more=image(f"{HOST}/img/1.jpg")),
            "User-agent: *\nDisallow: /img/\nUser-agent: Googlebot-Image\nAllow: /",
        ),
    ),
    # -- hreflang
    "hreflang-no-return-link": (site(languages(back=False)), 1, site(languages())),
    "hreflang-target-not-listed": (
        site(languages(link("fr", "/fr"))),
        2,
        site(languages(link("fr", f"{OTHER}/fr"))),
    ),
    "hreflang-invalid-code": (
        site(
            page(
                "/a", more=link("en-UK", "/a") + link("es-419", "/b") + link("xx", "/c")
            )
        ),
        3,
        site(
            page(
                "/a",
                more=link("en-GB", "/a")
                + link("zh-Hant-TW", "/b")
                + link("x-default", "/"),
            )
        ),
    ),
    "hreflang-no-self-reference": (
        site(page("/en", more=link("de", "/de"))),
        1,
        site(page("/en", more=link("en", "/en") + link("de", "/de"))),
    ),
    "hreflang-no-x-default": (
        site(languages()),
        1,
        site(languages(link("x-default", "/en"))),
    ),
    "hreflang-conflict": (
        site(languages(link("de", "/b"))),
        2,
        site(languages(link("x-default", "/en"), link("en-gb", "/en"))),
    ),
    # -- media
    "image-too-many": (
        site(page("/a", more=image("/i.jpg") * 1001)),
        1,
        site(page("/a", more=image("/i.jpg") * 1000)),
    ),
    "image-insecure": (
        site(page("/a", more=image("http://cdn.example/1.jpg"))),
        1,
        site(
            page("http://www.shop.example/a", more=image("http://cdn.example/1.jpg"))
            + page("/b", more=image("/1.jpg"))
        ),
    ),
    "image-deprecated-field": (
        site(pages(3, more=image("/i.jpg", "<image:caption>Boots</image:caption>"))),
        1,
        site(pages(3, more=image("/i.jpg"))),
    ),
    "news-too-old": (
        site(page("/a", more=news(publication_date="2026-11-20T11:59:59Z"))),
        1,
        site(page("/a", more=news(publication_date="2026-11-20T12:00:00Z"))),
    ),
    "news-future": (
        site(page("/a", more=news(publication_date="2026-11-23T12:00:01Z"))),
        1,
        site(page("/a", more=news(publication_date="2026-11-23T12:00:00Z"))),
    ),
    "news-too-many": (
        site(pages(1001, more=news())),
        1,
        site(pages(1000, more=news())),
    ),
    "news-missing-field": (
        site(
            page("/a", more=news(title=""))
            + page("/b", more=news(language="english") + news(language="en-us"))
            + page("/c", more=news(name="", publication_date=""))
            + page("/d", more=news(language="xx"))
        ),
        4,
        site(
            page("/a", more=news(language="zh-cn"))
            + page("/b", more=news(language="deu"))
        ),
    ),
    "video-missing-field": (
        site(page("/a", more=video(thumbnail_loc="") + video(content_loc=""))),
        2,
        site(page("/a", more=video(content_loc="", player_loc=f"{HOST}/player"))),
    ),
    "video-same-location": (
        site(page("/a", more=video(player_loc=f"{HOST}/a"))),
        1,
        site(page("/a", more=video(player_loc=f"{HOST}/a?v=1"))),
    ),
    "video-expired": (
        site(page("/a", more=video(expiration_date="2026-11-22T11:59:59Z"))),
        1,
        site(page("/a", more=video(expiration_date="2026-11-22T12:00:00Z"))),
    ),
    # -- URLs
    "url-not-ascii": (
        listed("/Über /a?ö"),
        2,
        listed("/%C3%9Cber https://bücher.example/a"),
    ),
    "url-fragment": (listed("/a#b /a#"), 2, listed("/a%23b")),
    "url-uppercase": (
        listed("/Boots /b%C3%A9?X#Y /%c3%a9B"),
        2,
        listed("/b%C3%A9 /a?Color=Red https://WWW.shop.example/a"),
    ),
    "template": (
        listed(
            "/blog/[slug] /docs/[...path]/a /credit/:id /users/{id} /u/%5Bslug%5D /undefined"
            " /a/None/ /x/NaN /[object%20Object]"
        ),
        9,
        listed(
            "/None-such /nan /undefined-behaviour /a:id /b?c=[d] /wiki/[A]_x /c/:) /d/{"
        ),
    ),
    "url-double-slash": (listed("/a//b"), 1, listed("/a/b?c=//d /a")),
    "url-tracking-parameter": (
        listed("/a?utm_source=x /a?b=1&amp;GCLID=2"),
        2,
        listed("/a?utm=x /a?notgclid=1 /utm_source=1"),
    ),
    "url-session-id": (
        listed("/a?sid=1 /a;jsessionid=2 /a?b=1&amp;PHPSESSID=3"),
        3,
        listed("/a?side=1 /a?sid /sid=1"),
    ),
    "url-many-parameters": (
        listed("/a?b=1&amp;c=2&amp;d=3&amp;e=4 /a?sort=price"),
        2,
        listed("/a?b=1&amp;c=2&amp;d=3 /a?resort=1 /a#/b?page=1"),
    ),
    "url-asset": (listed("/main.css /a/B.JPG"), 2, listed("/a.html /a.css/ /a?b=.css")),
    # -- comparison
    "missing-url": (listed("/a", "/a#x /b"), 1, listed("/a", "/a#x")),
    "orphan-url": (listed("/a /b", "/a"), 1, listed("/a /b", "/a /b")),
}
"""Code -> a site that it hits, how often, and a site that it just does not hit."""


class RuleTrial:
    """One database, in which rules are tried on sites one after the other."""

    def __init__(self) -> None:
        self.database = AuditDatabase()

    def run(self, code: str, tried: AuditedSite) -> Any:
        """Return the finding of a rule, or why it was not run, or `None` if it passed."""
        self.database.ask("BEGIN")
        try:
            return asyncio.run(self._run(code, tried))
        finally:
            self.database.ask("ROLLBACK")
            self.database.codes.clear()

    async def _run(self, code: str, tried: AuditedSite) -> Any:
        figures = AuditOptions(now=NOW, **tried.figures)
        plan = plan_rules(None, [code], [], {}, figures)
        visits = SiteVisits(self.database, figures, None, has_old=False, has_text=False)
        fetcher = tried.make_fetcher()
        self.database.is_http = tried.is_http
        if tried.known is not None:
            load_known(self.database, tried.known)
        kind: SiteKind = "sitemap" if tried.sitemap else "auto"
        url = HOST + (tried.sitemap or "/")
        source = SiteTask(
            url, kind, fetcher=None if tried.is_http else fetcher, name="shop"
        )
        run = AuditRun(
            self.database, plan, figures, figures.make_parameters(NOW), visits, source
        )
        options = FetchOptions(max_attempts=1)
        await run.read(ReadingOptions(None, None, None, True, fetcher, None, options))
        run.judge()
        self.database.robots.clear()
        ended: list[Finding | NotRun] = [*run.runner.find(), *run.runner.not_run]
        return ended[0] if ended else None

    def close(self) -> None:
        """Remove the database."""
        self.database.close()


_OF_ALL = {
    "variant-trailing-slash",
    "host-mixed-www",
    "scheme-http",
    "hreflang-no-x-default",
}
"""Rules that look at the root, at all hosts or at all languages of a site."""
_ORIGIN = re.compile(rb"(https?://[^/<\"'\s]+)(?=[/<])")


def is_one_sitemap(tried: AuditedSite) -> bool:
    """Tell whether a site has nothing but one sitemap, and could be a part of another one."""
    return tried == site("", documents={"/s.xml": tried.documents.get("/s.xml")})


TOGETHER = [
    code
    for code, (hit, _, miss) in CASES.items()
    if code not in _OF_ALL and is_one_sitemap(hit) and is_one_sitemap(miss)
]
"""Codes whose cases are sitemaps of one site, each with its URLs in a folder of its own."""
ALONE = [code for code in CASES if code not in TOGETHER]


@pytest.fixture(scope="module")
def together() -> dict[str, Counter[str]]:
    """Audit that site once; return the hits of each of the codes by sitemap."""
    parts = {}
    for code in TOGETHER:
        for kind, tried in (("hit", CASES[code][0]), ("miss", CASES[code][2])):
            root, end, records = tried.documents["/s.xml"].partition(b">")
            name = f"{code}-{kind}"
            parts[name] = root + end + _ORIGIN.sub(rb"\1/%b" % name.encode(), records)
    fetcher = sitemaps(
        index(*(f"/{name}.xml" for name in parts)), **parts
    ).make_fetcher()
    figures = AuditOptions(now=NOW)
    with audit_sync(
        f"{HOST}/", fetcher=fetcher, select=TOGETHER, figures=figures
    ) as result:
        return {
            code: Counter(
                document or url for _, url, _, document in result.hits(code).fetchall()
            )
            for code in TOGETHER
        }


@pytest.fixture(scope="module")
def trial() -> Iterator[RuleTrial]:
    shared = RuleTrial()
    yield shared
    shared.close()


def test_every_rule_has_its_cases() -> None:
    """A rule without a site that it hits, and one that it does not, is not taken.

    Rules about pages have theirs in test_audit_pages.py and test_audit_migration.py.
    """
    visited = {"pages", "folder", "base", "was"}
    plain = [rule for rule, _ in load_rules() if visited.isdisjoint(rule.needs)]
    assert CASES.keys() == {rule.code for rule in plain}
    assert NOW.hour == 12, "days and hours can be told apart"


@pytest.mark.slow
@pytest.mark.parametrize("code", TOGETHER)
def test_a_rule_hits_its_sitemap(code: str, together: dict[str, Counter[str]]) -> None:
    """Among many sitemaps a rule hits its own, and not the one in which it just has no reason."""
    assert together[code][f"{HOST}/{code}-hit.xml"] == CASES[code][1]
    assert together[code][f"{HOST}/{code}-miss.xml"] == 0


@pytest.mark.cases(30)
@pytest.mark.parametrize("code", ALONE)
def test_a_rule_hits(code: str, trial: RuleTrial) -> None:
    """Each rule hits what it says it hits, as often as that is there."""
    hit, count, _ = CASES[code]
    found = trial.run(code, hit)
    assert found is not None
    assert (found.rule.code, found.count) == (code, count)
    assert len(found.examples) == min(count, 20)
    assert all(example.url.startswith("http") for example in found.examples)


@pytest.mark.parametrize("code", ALONE)
def test_a_rule_just_does_not_hit(code: str, trial: RuleTrial) -> None:
    """Each rule passes where its threshold is not reached: it has run, and found nothing."""
    assert trial.run(code, CASES[code][2]) is None


NOT_RUN: dict[str, tuple[str, AuditedSite, str]] = {
    "answers of files": (
        "response-slow",
        site(pages(1), is_http=False),
        "read from files",
    ),
    "no robots.txt": (
        "robots-blocked-url",
        AuditedSite({"/sitemap.xml": urlset(pages(1))}, is_http=False),
        "the folder has no robots.txt",
    ),
    "a sitemap, not a site": (
        "robots-sitemap-broken",
        AuditedSite({"/s.xml": urlset(pages(1))}, sitemap="/s.xml"),
        "URL of the site",
    ),
    "no robots.txt of the images": (
        "robots-blocked-image",
        site(
            pages(2, more=image(f"{DEAD}/a.jpg")),
            documents={f"{DEAD}/robots.txt": fault(IssueCode.DNS)},
        ),
        "no robots.txt of a host of images",
    ),
    "no robots.txt of the URLs": (
        "robots-blocked-url",
        site(page(f"{DEAD}/a"), documents={f"{DEAD}/robots.txt": fault(IssueCode.DNS)}),
        "no robots.txt of a host of URLs",
    ),
    "no list": ("orphan-url", site(pages(1)), "`urls`"),
    "a list that is too small": (
        "orphan-url",
        site(pages(3), known=(f"{HOST}/1",)),
        "only 1 of 3",
    ),
    "a part of the walk": (
        "missing-url",
        site(
            pages(1),
            f"Sitemap: {HOST}/broken.xml",
            known=(f"{HOST}/9",),
            documents={"/broken.xml": urlset(pages(1))[:-20]},
        ),
        "not everything was read",
    ),
    "nothing that was read": (
        "lastmod-all-equal",
        AuditedSite({"/robots.txt": b"User-agent: *"}),
        "no sitemap was read",
    ),
}


@pytest.mark.cases(9)
@pytest.mark.parametrize("what", NOT_RUN)
def test_a_rule_without_its_input_is_not_run(what: str, trial: RuleTrial) -> None:
    """What was not looked at has not passed: the reason is given."""
    code, tried, reason = NOT_RUN[what]
    ended = trial.run(code, tried)
    assert ended is not None
    assert reason in ended.reason
    assert not ended.is_error


def test_a_server_has_no_folder(trial: RuleTrial) -> None:
    """A sitemap that a site does not have is told by the response."""
    found = trial.run(
        "robots-sitemap-broken", site(pages(1), f"Sitemap: {HOST}/gone.xml")
    )
    assert found is not None
    assert found.examples[0].detail == "http-status 404"


def test_a_listed_page_without_links_returns_none(trial: RuleTrial) -> None:
    """Each of 90 pages that are listed and link to nobody is a missing return link."""
    both = [
        page(f"/de/{n}", more=link("de", f"/de/{n}") + link("en", f"/en/{n}"))
        for n in range(90)
    ]
    plain = [page(f"/en/{n}") for n in range(90)]
    found = trial.run(
        "hreflang-no-return-link", site("".join(both + plain), figures={"examples": 90})
    )
    assert found is not None
    assert {each.url for each in found.examples} == {
        f"{HOST}/en/{n}" for n in range(90)
    }
    assert found.examples[0].detail == f"no link back to {HOST}/de/0"


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("code", "records", "detail"),
    [
        (
            "hreflang-no-x-default",
            page("/en", more=link("en", "/en") + link("de", "/de")),
            "de, en (1 URL)",
        ),
        ("hreflang-no-x-default", languages(), "de, en (2 URLs)"),
        (
            "hreflang-no-self-reference",
            page("/en", more=link("de", "/de")),
            "links to 1 other",
        ),
        ("url-session-id", page("/a;jsessionid=A1B2"), "jsessionid=A1B2"),
        ("url-session-id", page("/a?b=1&amp;sid=2&amp;c=3"), "sid=2"),
    ],
)
def test_a_detail_says_what_is_there(
    trial: RuleTrial, code: str, records: str, detail: str
) -> None:
    """One URL is not called 1 URLs, and no mark is added to a part of a URL."""
    found = trial.run(code, site(records))
    assert found is not None
    assert found.examples[0].detail == detail


@pytest.mark.cases(10)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    "units", ["URLs", "pages", "listed URLs", "others", "children"]
)
def test_sql_counts_as_messages_do(trial: RuleTrial, count: int, units: str) -> None:
    """The macro of rules and the function of messages give the same noun."""
    ((written,),) = trial.database.ask(f"SELECT count_units({count}, '{units}')")
    assert written == count_units(count, units)


def test_a_sitemap_that_is_not_there_switches_no_rule_off(trial: RuleTrial) -> None:
    """With a child that answers 404, what is missing is found, and it is said what is not known."""
    gone = f"Sitemap: {HOST}/gone.xml"
    for code, tried in {
        "missing-url": site(pages(1), gone, known=(f"{HOST}/9",)),
        "hreflang-target-not-listed": site(languages(link("fr", "/fr")), gone),
    }.items():
        found = trial.run(code, tried)
        assert found is not None
        assert found.doubt == "1 sitemap was not found, and may list some of these URLs"


@pytest.mark.cases(3)
@pytest.mark.parametrize("loc", ["/{{slug}}", "https://", ""])
def test_a_record_that_cannot_be_read_costs_itself(trial: RuleTrial, loc: str) -> None:
    """The rules about what no sitemap lists run, and say how many records are not known."""
    dropped = "<url><loc>" + loc + "</loc></url>"
    for code, tried in {
        "missing-url": site(pages(1) + dropped, known=(f"{HOST}/9",)),
        "hreflang-target-not-listed": site(languages(link("fr", "/fr")) + dropped),
    }.items():
        found = trial.run(code, tried)
        assert found is not None
        doubt = "1 record could not be read, and may list some of these URLs"
        assert found.doubt == (doubt if loc else "")


def test_an_index_that_lost_a_record_may_list_anything(trial: RuleTrial) -> None:
    """A child that is not known may list every URL, so the rule is not run."""
    root = index("/1.xml", "/{{name}}.xml")
    tried = sitemaps(root, **{"1": urlset(pages(1))})
    left_out = trial.run("missing-url", attrs.evolve(tried, known=(f"{HOST}/9",)))
    assert left_out.reason.endswith("all or parts of 1 sitemap could not be read")


def test_a_base_url_of_localhost_is_one_finding(tmp_path: Path) -> None:
    """What its other faults are is told below it, in whatever category they are."""
    listed = "".join(page(f"http://localhost:8000/{n}.html") for n in range(8))
    for n in range(8):
        (tmp_path / f"{n}.html").write_text(f"<title>{n}</title>")
    (tmp_path / "sitemap.xml").write_bytes(urlset(listed))
    with audit_sync(tmp_path, base_url=HOST, pages="all") as result:
        causes = {each.rule.code: each.cause for each in result.findings}
        first = result.findings[0].rule.code
    below = {"out-of-scope", "other-site", "host-other"}
    assert first == "host-not-public"
    assert {code for code, cause in causes.items() if cause == first} == below


def test_rules_that_name_each_other_are_no_cause(tmp_path: Path) -> None:
    """Two rules of one's own that call each other their cause are both shown."""
    for code, other in (("a-rule", "b-rule"), ("b-rule", "a-rule")):
        head = f"-- title: {code}\n-- severity: info\n-- cause: {other}\n"
        query = "SELECT loc AS url, '' AS detail, document FROM url"
        (tmp_path / f"{code}.sql").write_text(head + query)
    tried = site(pages(1)).make_fetcher()
    with audit_sync(
        f"{HOST}/", rules=tmp_path, select=["custom"], fetcher=tried
    ) as result:
        assert [(each.rule.code, each.cause) for each in result.findings] == [
            ("a-rule", ""),
            ("b-rule", ""),
        ]


def test_the_gravest_hit_makes_the_severity(trial: RuleTrial) -> None:
    """A staging host alone is a warning; beside a local one it is an error."""
    staging = trial.run("host-not-public", site(page("https://staging.shop.example/")))
    assert staging is not None
    assert staging.severity == "warning"
    both = site(page("https://staging.shop.example/") + page("http://localhost/"))
    local = trial.run("host-not-public", both)
    assert local is not None
    assert (local.severity, local.count) == ("error", 2)


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("robots", "found"),
    [
        # no sitemap can be read either
        (
            "User-agent: *\nDisallow: /*",
            ["robots-blocks-site"],
        ),
        (
            "User-agent: Googlebot\nDisallow: /",
            ["robots-blocks-site", "robots-blocked-sitemap"],
        ),
        (
            "User-agent: *\nDisallow: /\nAllow: /$\nAllow: /s.xml",
            ["robots-blocked-url"],
        ),
        ("User-agent: Bingbot\nDisallow: /", []),
    ],
)
def test_a_blocked_site_is_found_first(robots: str, found: list[str]) -> None:
    """It comes before all else; a site with a page that may be visited is not blocked."""
    tried, select = (
        site(page("/a") + page("/b"), robots).make_fetcher(),
        ["robots", "discovery"],
    )
    with audit_sync(f"{HOST}/", select=select, fetcher=tried) as result:
        assert [each.rule.code for each in result.findings][
            : max(1, len(found))
        ] == found


def test_a_blocked_store_of_images_is_no_blocked_site() -> None:
    """The robots.txt of a host that has only images of the site says nothing about the site."""
    cdn = "https://img.example"
    tried = site(
        page("/a", more=image(f"{cdn}/1.jpg")),
        documents={f"{cdn}/robots.txt": b"User-agent: *\nDisallow: /"},
    )
    with audit_sync(
        f"{HOST}/", select=["robots"], fetcher=tried.make_fetcher()
    ) as result:
        assert [each.rule.code for each in result.findings] == ["robots-blocked-image"]


def test_a_blocked_host_of_pages_is_a_blocked_site() -> None:
    """The robots.txt of another host that forbids all its URLs is found as that of the site."""
    other = "https://blog.example"
    tried = site(
        page("/a") + page(f"{other}/b"),
        documents={f"{other}/robots.txt": b"User-agent: *\nDisallow: /"},
    )
    with audit_sync(
        f"{HOST}/", select=["robots"], fetcher=tried.make_fetcher()
    ) as result:
        (found,) = (e for e in result.findings if e.rule.code == "robots-blocks-site")
        assert [each.url for each in found.examples] == [f"{other}/"]


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "docs/",
            "the folder is at https://example.org/docs/, and its host has the robots.txt",
        ),
        ("", "the folder has no robots.txt"),
    ],
)
def test_a_folder_without_a_robots_file(tmp_path: Path, path: str, said: str) -> None:
    """It may be the part of a site: then nobody knows its rules."""
    base = f"https://example.org/{path}"
    (tmp_path / "sitemap.xml").write_bytes(urlset(base))
    (tmp_path / "index.html").write_text("<p>Home")
    with audit_sync(tmp_path, base_url=base, select=["robots"]) as result:
        assert said in {each.reason for each in result.facts.not_run}
