"""robots.txt: what is read of it, and what its rules allow; limits, and real misspellings."""

from __future__ import annotations

import tracemalloc

import pytest
from each_case import for_each
from hypothesis import given
from hypothesis import strategies as st
from timing import is_below, is_within, least_seconds

from sitemapreader.issues import IssueCode
from sitemapreader.options import MAX_URL_CHARS, ROBOTS_MAX_BYTES
from sitemapreader.readers.robots import Robots, parse_robots

URL = "https://example.org/robots.txt"
OURS = "sitemapreader/0.1 (+https://pypi.org/project/sitemapreader/)"


def listed(text: str | bytes) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    return [entry.loc for entry in parse_robots(data, URL).sitemaps]


def codes(text: str | bytes) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    return [str(issue.code) for issue in parse_robots(data, URL).issues]


ONE = ["https://example.org/s.xml"]


B = ["https://b.net/2"]
TWO = [*ONE, *B]


@for_each(
    "text, urls",
    [
        *(
            (text.replace("URL", ONE[0]), ONE)
            for text in (
                *("sitemap:URL\r\n", "Site-map: URL", "Sitemap URL", "a\rSitemap: URL#ours\rb"),
                *("User-agent: x\nDisallow: /\nSitemap: URL\nAllow: /", "Sitemap: /s.xml"),
                *("Sitemap: URL\nsitemap: HTTPS://EXAMPLE.org:443/s.xml", "Sitemap: <URL>"),
                *(
                    "Sitemap: 'URL' # ours",
                    "Sitemap: `/s.xml`",
                    'Sitemap: URL"',
                    "\ufeffSitemap: URL",
                ),
            )
        ),
        *(
            (text, [])
            for text in (
                *("", "Sitemap: # https://b.net/", "# Sitemap: https://b.net/"),
                *("Sitemapped: https://b.net/", "Sitemap: ftp://example.org/s.xml"),
                *("Sitemap: {{ site.url }}/sitemap.xml", "Sitemap: /robots.txt"),
            )
        ),
        ("Sitemap: https://b.net/2\nSitemap: https://example.org/s.xml", [*B, *ONE]),
        ("Sitemap: https://example.org/s.xml,https://b.net/2", TWO),
        ("Sitemap: <https://example.org/s.xml>;  <https://b.net/2>", TWO),
        ("Sitemap: https://example.org/s.xml Sitemap: https://b.net/2", TWO),
        *(
            (f"Sitemap: {url}", [url])
            for url in ("HTTPS://Example.org/S.xml", "https://b.net/?u=1,https://c.net/it's,b.xml")
        ),
    ],
)
def test_sitemap_lines(text: str, urls: list[str]) -> None:
    """Each spelling of a Sitemap line gives the URL that its author means, once."""
    assert listed(text) == urls


@for_each(
    "text, expected",
    [
        ("Sitemap: /s.xml", ["relative-loc"]),
        ("Sitemap: mailto:me@example.org", ["unsupported-scheme"]),
        ('Sitemap: "/a.xml"', ["untidy-line", "relative-loc"]),
        *((f"Sitemap: {url}", ["invalid-url"]) for url in ("//[::1/x", "https:///x", "https:x")),
        ("Sitemap: https://a.b/{{ n }}", ["template"]),
        ("Sitemap: https://example.org/my map.xml", ["url-characters"]),
        ("Sitemap: https://me:secret@example.org/s.xml", ["userinfo-removed"]),
        ("Sitemap: https://example.org/robots.txt", ["cycle"]),
        ("Sitemap: https://example.org/" + "a" * 8_192, ["field-too-long"]),
        *(
            (text, ["robots-not-text"])
            for text in (
                *(
                    "\n \n<html>Sitemap: /s.xml",
                    b"\x1f\x8b\x08 gzip\nSitemap: /s",
                    b"Sitemap: /s\0.xml",
                ),
                "Sitemap: /s.xml".encode("utf-32"),
                *('{"error": "not found", "sitemap": "/s.xml"}', "404 page not found\n"),
            )
        ),
        ("# nothing here\n\n  \n", []),
        ("404 page not found\nUser-agent: *", []),
        ("License: https://example.org/l.xml", []),
        (b"Sitemap: https://example.org/s.xml\n" + b"#" * ROBOTS_MAX_BYTES, ["robots-too-large"]),
    ],
)
def test_issues(text: str | bytes, expected: list[str]) -> None:
    """What was dropped or mended in a Sitemap line, or in the file, is said."""
    assert codes(text) == expected


def test_an_issue_knows_its_line() -> None:
    """Issues carry the number of their line, whatever ends the lines."""
    robots = parse_robots(b"User-agent: *\r\n\rSitemap: s.xml\nSitemap: ftp://x", URL)
    assert [(issue.line, issue.value) for issue in robots.issues] == [(3, "s.xml"), (4, "ftp://x")]


@for_each("separator", ["\u2028", "\x0b", "\x1c", "\x85"])
def test_hostile_separators_end_no_line(separator: str) -> None:
    """A character that only Python takes for the end of a line smuggles in neither rule nor URL."""
    text = f"User-agent: *{separator}Disallow: /a\nDisallow: /b{separator}Sitemap: /evil.xml"
    robots = parse_robots(text.encode(), URL)
    assert robots.sitemaps == ()
    assert robots.can_fetch("https://example.org/a", OURS)


@for_each(
    "text, allowed, forbidden",
    [
        ("User-agent: *\nDisallow: /no", "/yes", "/no/more"),
        ("User-agent: *\nDisallow:", "/any", None),
        ("User-agent: *\nDisallow: /\nAllow: /yes", "/yes", "/no"),
        ("User-agent: SiteMapReader\nDisallow: /no\n\nUser-agent: *\nDisallow: /", "/yes", "/no"),
        ("User-agent: sitemapreader/9\nDisallow: /no", "/yes", "/no"),
        ("User-agent: a\nDisallow: /yes\nUser-agent: sitemapreader\nDisallow: /no", "/yes", "/no"),
        (
            "User-agent: sitemapreader\nDisallow: /n\nUser-agent: b\nDisallow: /y\n"  # noqa: ISC004 (one text)
            "User-agent: sitemapreader\nDisallow: /o",
            "/yes",
            "/or",
        ),
        ("User-agent: https\nDisallow: /\nUser-agent: project\nDisallow: /", "/any", None),
        ("User-agent: *\nDisallow: /no\nUser-agent: 'x'\nDisallow: /yes", "/yes", "/no"),
        ("User-agent: Яндекс\nUser-agent: sitemapreader\nDisallow: /no", "/yes", "/no"),
        ("\ufeffUser-agent: *\nDisallow: /no", "/yes", "/no"),
        ("Disallow: /", "/no-group-no-rule", None),
        ("<html>User-agent: *\nDisallow: /", "/any", None),
    ],
)
def test_rules(text: str, allowed: str, forbidden: str | None) -> None:
    """The rules that apply are those of the groups for us, else of those for all."""
    for data in (text.encode(), ("\ufeff" + text.lstrip("\ufeff")).encode("utf-16-be")):
        robots = parse_robots(data, URL)
        assert robots.can_fetch("https://example.org" + allowed, OURS)
        assert forbidden is None or not robots.can_fetch("https://example.org" + forbidden, OURS)


def test_rules_that_protego_chokes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the parser of rules raises, nothing is allowed; the Sitemap lines are ours anyway."""

    def choke(_: str) -> None:
        raise ValueError("as the test wants it")

    robots = parse_robots(b"User-agent: *\nDisallow: /x y\nSitemap: /s.xml", URL)
    for url in ("http://[::1", "https://example.org/\ud800"):
        assert not robots.can_fetch(url, OURS)
    monkeypatch.setattr("protego.Protego.parse", choke)
    robots = parse_robots(b"User-agent: *\nDisallow: /x\nSitemap: /s.xml", URL)
    assert not robots.can_fetch("https://example.org/", OURS)
    assert [entry.loc for entry in robots.sitemaps] == ONE


def test_crawl_delay() -> None:
    """A Crawl-delay is taken in seconds, up to a minute; what is no number is none."""
    read = {
        value: parse_robots(f"User-agent: *\nCrawl-delay: {value}".encode(), URL).crawl_delay(OURS)
        for value in ("5", "0.5", "1e9", "-1", "nan", "inf", "soon", "")
    }
    assert read == dict.fromkeys(read) | {"5": 5.0, "0.5": 0.5, "1e9": 60.0}


def test_there_is_an_end() -> None:
    """A thousand Sitemap lines are taken, ten Issues of a code kept; the others are counted."""
    robots = parse_robots(b"".join(b"Sitemap: /%d\n" % n for n in range(1_005)), URL)
    assert len(robots.sitemaps) == 1_000
    assert robots.counts == {IssueCode.RELATIVE_LOC: 1_000, IssueCode.ROBOTS_TOO_LARGE: 1}
    assert len(robots.issues) == 11
    assert robots.issues[-1].value == "5 Sitemap lines past the first 1000"


@pytest.mark.parametrize("complete", [True, False])
def test_a_line_that_was_cut_is_not_read(complete: bool) -> None:
    """Of a file that broke off, or is too long, the last line is half a line and means nothing."""
    data = b"Sitemap: https://example.org/s.xml\n"
    if complete:
        data += b"#" * (ROBOTS_MAX_BYTES - len(data) - 30) + b"\n"
    data += b"Sitemap: https://example.org/second.xml\n"
    robots = parse_robots(data[:-9] if not complete else data, URL, complete=complete)
    assert [entry.loc for entry in robots.sitemaps] == ONE
    assert robots.complete is complete


HOSTILE = {
    "robots": b"".join(b"User-agent: a%d\nDisallow: /\n" % n for n in range(4_500)),
    "one group": b"".join(b"User-agent: %d\n" % n for n in range(4_000)) + b"Disallow: /\n" * 5_000,
    "sitemaps": b"".join(b"Sitemap: ftp:%d\n" % n for n in range(7_500)),
    "odd blanks": "\u3000User\u3000agent\u3000x\n".encode() * 4_000 + b"Disallow: /\n" * 5_000,
}


@for_each("name", HOSTILE, few=2)
def test_hostile_files_cost_little(name: str) -> None:
    """A file of a quarter of the size that is read is parsed and asked in 15 MB and soon."""

    def check() -> None:
        parse_robots(HOSTILE[name], URL).can_fetch("https://example.org/" + "a/" * 2_000, OURS)

    tracemalloc.start()
    try:
        seconds = least_seconds(check, 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 15_000_000
    assert is_within(seconds, 10)  # 0.01 to 0.1, and some times more because it is traced


@given(
    st.binary(max_size=400)
    | st.text(alphabet="Sitemap:uer-agnt*/ \n\r\t#$%\u2028\ufeff<{", max_size=400).map(str.encode)
)
def test_nothing_raises(data: bytes) -> None:
    """Whatever the bytes are, parsing and asking raise nothing, and URLs are absolute."""
    robots = parse_robots(data, URL)
    robots.can_fetch("https://example.org/s", OURS)
    robots.crawl_delay(OURS)
    assert all(entry.loc.lower().startswith(("http://", "https://")) for entry in robots.sitemaps)


# -- rules of robots.txt: which group is ours, and what its rules say, in bounded work


SITE = "https://example.org"


def parse(text: str) -> Robots:
    return parse_robots(text.encode(), f"{SITE}/robots.txt")


def rules_of(text: str) -> Robots:
    """Parse rules that are written as `+/a` (allow) and `-/b` (disallow)."""
    names = {"+": "Allow", "-": "Disallow"}
    lines = [f"{names[word[0]]}: {word[1:]}" for word in text.split()]
    return parse("\n".join(["User-agent: *", *lines]))


@for_each(
    "rules, allowed, forbidden",
    [
        ("-/a +/a/b", "/a/b", "/a/c"),
        ("-/*.xml$", "/a.xml?x", "/a/b.xml"),
        ("-/a*b*c", "/a/c/b", "/axbxc"),
        ("+/ab -/a***", "/b", "/ab"),
        ("-/$", "/x", "/"),
        ("+/index.html -/", "/", "/x"),
        ("-/ä", "/a", "/%C3%A4"),
        ("-/a%2Fb", "/a/b", "/a%2fb"),
        ("-/a%2Ab", "/axb", "/a%2ab"),
        ("-*", "/robots.txt", "/anything"),
    ],
)
def test_precedence(rules: str, allowed: str, forbidden: str | None) -> None:
    """The longest rule decides, Allow wins a tie, and only `*` and a final `$` are special."""
    robots = rules_of(rules)
    assert robots.can_fetch(SITE + allowed, "x")
    assert forbidden is None or not robots.can_fetch(SITE + forbidden, "x")


# -- agents and groups

NOBODY = ('"GPTBot"', "'*'", ".*bot.*", "Яндекс", "機器人", "(all)", "", "/", "**", "®Bot")
EVERYBODY = ("*", "* ", "*  # all", "* and others")
ASKED = ["us/1 (+https://us.example)", "GPTBot/1.0", "Mozilla/5.0 (compatible; bot/2)"]
US = ("us", "US/2.0", "us*", "*us", "Us; it", "us (our robot)")


@for_each(
    "values, agents",
    [
        (NOBODY, []),
        (EVERYBODY, ASKED),
        (US, ASKED[:1]),
    ],
)
def test_whom_a_value_names(values: tuple[str, ...], agents: list[str]) -> None:
    """A value without a product token names nobody, a star with anything behind it everybody."""
    for value in values:
        robots = parse(f"User-agent: {value}\nDisallow: /\n")
        assert [each for each in ASKED if not robots.can_fetch(f"{SITE}/x", each)] == agents, value


OTHER_LINES = ("Content-Signal: x", "Host: x", "Noindex: /", "X", "Sitemap: /s")
LINES_OF_GROUPS = ("Disallow:", "Allow: /y", "Crawl-delay: 1")


def test_which_lines_end_a_group() -> None:
    """Rules end the names of theirs (RFC 9309, section 2.2.4); other lines change nothing."""
    for lines, is_of_a in ((OTHER_LINES, True), (LINES_OF_GROUPS, False)):
        for line in lines:
            robots = parse(f"User-agent: a\n{line}\nUser-agent: b\nDisallow: /\n")
            assert robots.can_fetch(f"{SITE}/x", "a") is not is_of_a, line
            assert not robots.can_fetch(f"{SITE}/x", "b")


# -- work

WORST = {
    "almost": ([f"/*{'a' * n}b{'a' * n}{k}" for k in range(70) for n in range(4, 90)], "a"),
    "numbers": ([f"/*{n}*b" for n in range(20_000)], "0123456789"),
    "one rule": (["/" + "*a" * 4_090 + "b"], "a"),
    "prefixes": ([f"/x/{n}" for n in range(20_000)], "x/y"),
    "stars": ([f"/{'*' * n}b" for n in range(1, 1_000)], "a"),
}


@for_each("name", WORST)
def test_the_worst_rules_take_milliseconds(name: str) -> None:
    """Whatever the rules are, a URL is judged soon, or refused as too much work.

    Of the URLs that are judged, the longest one takes longest.
    """
    paths, piece = WORST[name]
    robots = rules_of(" ".join(f"-{path}" for path in paths))
    robots.crawl_delay("us")
    text = piece * (MAX_URL_CHARS // len(piece))

    def make_url(length: int) -> str:
        return f"{SITE}/{text[:length]}"

    def is_judged(length: int) -> bool:
        refusal = robots.find_refusal(make_url(length), "us")
        return refusal is not IssueCode.ROBOTS_TOO_COMPLEX

    longest = max(filter(is_judged, range(0, MAX_URL_CHARS, 250)), default=0)
    ask = lambda: robots.can_fetch(make_url(longest), "us")  # noqa: E731 (named for the next line)
    assert is_below(0.02, lambda: least_seconds(ask))  # 0.2 to 6 ms; without a fence up to 420
