"""What a page says of its absence, and the faults of its response, are judged to the letter."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader.pages import (
    NotJudged,
    PageFacts,
    PageFault,
    PageVisit,
    explain_target,
    find_fault,
    find_soft_errors,
    is_led_to_login,
    is_page_empty,
    make_up_path,
    read_page,
)
from sitemapreader.pages.faults import (
    find_empty_pages,
    find_responding_hosts,
    judge_visit,
    leave_out_silent,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

SITE = "https://a.example/"
URL = f"{SITE}shop/red-chair"

# -- what a page says of its absence


def read_text(text: str, title: str = "") -> PageFacts:
    head = f"<title>{title}</title>" if title else ""
    return read_page(f"{head}<p>{text}".encode(), URL)


@pytest.mark.parametrize(
    ("title", "text", "says_missing", "is_notice"),
    [
        ("", "This page was not found", True, True),
        ("Page not found", "", True, True),
        ("Page not found", "Our chairs", True, True),
        ("404", "Our chairs", True, False),
        ("Chairs", "This page is made of paper", False, False),
        ("", "x" * 490 + " not found", True, False),
        ("", "x" * 491 + " not found", False, False),
        ("", "x" * 380 + ". This page was not found", True, True),
        ("", "x" * 381 + ". This page was not found", True, False),
    ],
)
def test_a_page_that_says_that_it_is_missing(
    title: str, text: str, says_missing: bool, is_notice: bool
) -> None:
    """Its title and its first 500 characters say so; in 400, with a sentence, it is a notice."""
    facts = read_text(text, title)
    assert (facts.says_missing, facts.is_notice) == (says_missing, is_notice)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Page NOT found: /shop/red-chair", {"page", "not", "found"}),
        ("Page not found: red-chair or chair", {"page", "not", "found", "or", "chair"}),
        ("404: " + "ab " * 3_331 + "aa", {"404", "ab", "aa"}),
        ("404: " + "ab " * 3_331 + "a.b", set()),
        ("A red chair", set()),
    ],
)
def test_the_words_of_an_error_page(text: str, words: set[str]) -> None:
    """They are kept of up to 10,000 characters that say so, without the name of the page."""
    assert read_text(text).missing_words == words


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"{SITE}abc", "abc"),
        (f"{SITE}a%20b/", "a b"),
        (f"{SITE}a%20b/", "/a%20b/"),
        (f"{SITE}x/y?z", f"{SITE}x/y?z"),
    ],
)
def test_a_template_is_the_text_without_the_address(url: str, name: str) -> None:
    """Whatever form of three characters the address has there; the text itself keeps it."""
    with_name = read_page(f"<p>See {name} or {name}s".encode(), url)
    without = read_page(f"<p>See or {name}s".encode(), url)
    assert with_name.template_hash == without.template_hash
    assert with_name.text_hash not in (with_name.template_hash, without.text_hash)


def test_a_name_of_two_characters_is_a_word() -> None:
    """A text has these without being about its page."""
    facts = read_page(b"<p>go on or go back", f"{SITE}go")
    assert facts.template_hash == facts.text_hash is not None


@pytest.mark.parametrize(
    ("kind", "body", "shows"),
    [
        ("application/pdf", b"%PDF", "something"),
        ("application/pdf", b"", "nothing"),
        ("text/plain", b"A text", "something"),
        ("text/plain", b" \n", "nothing"),
        ("text/plain", b"<script>", "something"),
        ("text/html", b"<p>" + b" " * 2_097_149, "nothing"),
        ("text/html", b"<p>" + b" " * 2_097_150, "something"),
        ("text/html", "<p>\u200b\u00ad".encode(), "nothing"),
    ],
)
def test_what_is_shown_by_type_and_size(kind: str, body: bytes, shows: str) -> None:
    """A file shows something; of 2 MiB all is known, and of a byte more nothing is."""
    facts = read_page(body, URL, {"Content-Type": f"{kind}; charset=utf-8"})
    assert facts.shows == shows


def test_a_text_of_two_mebibytes_has_a_hash() -> None:
    """One byte more is not read, and has none."""
    body = b"<p>" + b"word " * 419_429 + b"ab"
    assert len(body) == 2_097_150
    assert read_page(body + b"cd", URL).text_hash is not None
    assert read_page(body + b"cde", URL).text_hash is None
    assert read_page(b"<p>word", URL, text=False).text_hash is None


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("unavailable_after: 2027-01-01T00:00:00Z", None),
        ("unavailable_after: 2026-12-31T23:59:59Z", "robots"),
        ("unavailable_after: soon", None),
        ("bot: noindex", None),
        ("*: noindex", "*"),
        ("nofollow, none", "robots"),
    ],
)
def test_the_crawler_and_its_directive_are_told(said: str, found: str | None) -> None:
    """What ends at a moment holds behind it; directives for `*` are for all."""
    facts = read_page(b"", URL, {"x-robots-tag": said})
    now = datetime(2027, 1, 1, tzinfo=UTC)
    told = facts.find_noindex(now=now)
    assert (told and told[0]) == found
    assert facts.lines == {}


def test_the_present_ends_what_was_available() -> None:
    """Without a moment, the one of the call counts."""
    past = "unavailable_after: 2000-01-01, x"
    assert read_page(b"", URL, {"x-robots-tag": past}).find_noindex() == (
        "robots",
        "unavailable_after:2000-01-01",
    )
    future = "unavailable_after: 9999-01-01"
    assert read_page(b"", URL, {"x-robots-tag": future}).find_noindex() is None
    assert (
        read_page(b"", URL, {"x-robots-tag": past}).find_noindex(
            now=datetime(1999, 1, 1, tzinfo=UTC)
        )
        is None
    )


def test_one_line_of_directives_is_bounded() -> None:
    """64 KiB of it are read."""
    line = "x," * 32_764 + "noindex"
    assert len(line) == 65_535
    found = read_page(b"", URL, {"x-robots-tag": line}).robots["robots"]
    assert found == {"x", "noindex"}
    found = read_page(b"", URL, {"x-robots-tag": f",,{line}"}).robots["robots"]
    assert found == {"x", "noinde"}


# -- the first fault of a response

NO_FAULT: dict[str, Any] = dict.fromkeys(
    ("has_failed", "leads_to_login", "is_soft_404", "leads_on", "is_empty"), False
)


@pytest.mark.parametrize(
    ("status", "flags", "fault"),
    [
        (200, "", None),
        (404, "leads_to_login is_soft_404 leads_on is_empty", PageFault.NOT_FOUND),
        (410, "leads_to_login is_soft_404 leads_on is_empty", PageFault.GONE),
        (500, "leads_to_login", PageFault.ERROR),
        (304, "", PageFault.ERROR),
        (0, "has_failed leads_to_login leads_on", PageFault.ERROR),
        (0, "", None),
        (401, "leads_on", PageFault.LOGIN),
        (407, "", PageFault.LOGIN),
        (200, "leads_to_login is_soft_404 leads_on is_empty", PageFault.LOGIN),
        (400, "is_soft_404", PageFault.FORBIDDEN),
        (403, "is_soft_404", PageFault.FORBIDDEN),
        (200, "is_soft_404 leads_on is_empty", PageFault.SOFT_404),
        (200, "leads_on is_empty", PageFault.REDIRECTS),
        (200, "is_empty", PageFault.EMPTY),
        (399, "", PageFault.ERROR),
        (299, "", None),
    ],
)
def test_the_first_fault(status: int, flags: str, fault: PageFault | None) -> None:
    """Of several faults one is told: the status first, then where it leads, then the text."""
    said = NO_FAULT | dict.fromkeys(flags.split(), True)
    assert find_fault(status, **said) is fault


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((200, "", 0, 0, 0, "", "", 0, ""), ""),
        ((401, "e: x", 0, 1, 1, "f", "r", 1, "c"), "requires a login"),
        ((407, "", 0, 0, 0, "", "", 0, ""), "requires a login"),
        ((200, "", 1, 0, 0, "f", "", 0, ""), "requires a login"),
        ((400, "e: x", 0, 1, 1, "f", "r", 1, "c"), "returns 400"),
        ((399, "", 0, 0, 0, "", "", 0, ""), ""),
        ((0, "dns: no such host", 0, 1, 1, "f", "r", 1, "c"), "is not reached (dns)"),
        ((200, "", 0, 1, 1, "f", "r", 1, "c"), "is an error page"),
        ((200, "", 0, 0, 1, "f", "r", 1, "c"), "is empty"),
        ((200, "", 0, 0, 0, "f", "r", 1, "c"), "redirects to f"),
        ((200, "", 0, 0, 0, "", "r", 1, "c"), "refreshes to r"),
        ((200, "", 0, 0, 0, "", "", 1, "c"), "forbids indexing"),
        ((200, "", 0, 0, 0, "", "", 0, "c"), "names c as canonical"),
    ],
)
def test_why_a_page_should_not_be_named(values: tuple[Any, ...], reason: str) -> None:
    """The first reason is told, in the order of the faults."""
    assert explain_target(*values) == reason


@pytest.mark.parametrize(
    ("url", "final_url", "is_led"),
    [
        ("a", "login", True),
        ("a", "Sign-In.php", True),
        ("a", "x/oauth2/y", True),
        ("a", "logins", False),
        ("a", "a?to=/login", False),
        ("login", "signin", False),
        ("login", "a", False),
    ],
)
def test_redirects_to_a_login(url: str, final_url: str, is_led: bool) -> None:
    """A path that asks for one counts, unless it was asked for itself."""
    assert is_led_to_login(SITE + url, SITE + final_url) is is_led
    assert not is_led_to_login(SITE, "https://[/login")


@pytest.mark.parametrize(
    ("shows", "counts", "is_empty"),
    [
        ("nothing", (9, 9, 9, 9), True),
        ("something", (0, 9, 0, 9), False),
        ("scripts", (1, 9, 1, 9), True),
        ("scripts", (5, 10, 1, 1), True),
        ("scripts", (6, 11, 1, 1), False),
        ("scripts", (2, 9, 2, 3), False),
        ("scripts", (2, 9, 2, 4), True),
    ],
)
def test_a_shell_that_no_browser_builds_is_empty(
    shows: str, counts: tuple[int, int, int, int], is_empty: bool
) -> None:
    """Half of a site or a folder is not most of it, and one page of a folder is not several."""
    assert is_page_empty(shows, *counts) is is_empty


def visit(path: str, final: str | None = None, **values: Any) -> PageVisit:
    """Return a visit of a page that is fine."""
    found: dict[str, Any] = {"status": 200, "facts": PageFacts(SITE + path), **values}
    return PageVisit(SITE + path, SITE + (path if final is None else final), **found)


def refresh(seconds: int) -> PageVisit:
    facts = PageFacts(SITE, refresh=(seconds, f"{SITE}x"))
    return visit("", facts=facts)


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        (visit("a"), None),
        (visit("a", status=404), PageFault.NOT_FOUND),
        (visit("a", status=404, not_judged=NotJudged.TIME), None),
        (visit("a", "b"), PageFault.REDIRECTS),
        (visit("a", "%61"), None),
        (visit("a", "login"), PageFault.LOGIN),
        (visit("a", status=None, error="dns: x"), PageFault.ERROR),
        (visit("a", status=None, facts=None), None),
        (refresh(0), PageFault.REDIRECTS),
        (refresh(5), PageFault.REDIRECTS),
        (refresh(6), None),
    ],
)
def test_the_fault_of_a_visit(page: PageVisit, fault: PageFault | None) -> None:
    """A refresh within five seconds is a redirect; what is not judged has no fault."""
    assert judge_visit(page, is_soft_404=False, is_empty=False) is fault


def test_a_host_that_responds_to_nothing_says_nothing_about_its_pages() -> None:
    """Any status, or a redirect from it, is a response."""
    down, other = "dns: x", "https://b.example/"
    visits = [
        PageVisit(f"{SITE}a", f"{SITE}a", error=down),
        PageVisit(f"{other}a", f"{other}a", status=500, error=""),
        PageVisit(f"{other}b", f"{other}b", error=down),
        PageVisit(f"{SITE}b", f"{SITE}b", not_judged=NotJudged.ROBOTS, error=down),
        PageVisit(f"{SITE}c", f"{SITE}c"),
    ]
    responding = find_responding_hosts(visits)
    assert responding == {"b.example"}
    reasons = [leave_out_silent(each, responding).not_judged for each in visits]
    assert reasons == [NotJudged.NETWORK, None, None, NotJudged.ROBOTS, None]
    redirect = ((f"{SITE}a", f"{other}a", 301),)
    moved = PageVisit(f"{SITE}a", f"{other}a", redirects=redirect, error=down)  # type: ignore[arg-type]
    assert find_responding_hosts([moved]) == {"a.example"}


def shown(path: str, shows: Any, **values: Any) -> PageVisit:
    return visit(path, facts=PageFacts(SITE + path, shows=shows), **values)


def test_shells_are_counted_by_site_and_folder() -> None:
    """Pages of a folder that a browser builds are not empty; a shell among texts is."""
    pages = [
        *(shown(f"app/{number}", "scripts") for number in range(3)),
        shown("app/text", "something"),
        *(shown(f"blog/{number}", "something") for number in range(4)),
        *(shown(f"blog/{name}", "scripts") for name in ("shell", "other")),
        shown("blog/none", "nothing"),
        shown("blog/skipped", "nothing", not_judged=NotJudged.TIME),
        shown("blog/error", "nothing", status=500),
        visit("blog/unread", facts=None),
    ]
    empty = {f"{SITE}blog/{name}" for name in ("shell", "other", "none")}
    assert find_empty_pages(pages) == empty


# -- soft 404s


def text_page(
    path: str, text: str, final: str | None = None, **values: Any
) -> PageVisit:
    """Return the visit of a page with a text."""
    facts = read_page(f"<p>{text}".encode(), SITE + (final or path))
    return visit(path, final, facts=facts, **values)


MISSING = "Page not found: we looked everywhere in our whole shop for it, and see none"
PROBE = text_page("shop/made-up", MISSING)
WORDS = "404: alpha beta gamma delta epsilon zeta"
LONG = "404 " + " ".join(f"w{n}" for n in range(40))
OTHERS = [text_page(f"shop/{n}", f"The chair of number {n}") for n in range(3)]
SAME = [text_page(f"shop/same{n}", "All alike") for n in range(4)]
ALIKE = text_page("shop/made-up", "All alike")


@pytest.mark.parametrize(
    ("probe", "pages", "soft", "distrusted"),
    [
        (PROBE, [*OTHERS, text_page("shop/x", MISSING)], ["shop/x"], []),
        (
            PROBE,
            [*OTHERS, text_page("shop/x", f"{MISSING} at all now")],
            ["shop/x"],
            [],
        ),
        (
            PROBE,
            [*OTHERS, text_page("shop/x", f"{MISSING}: 1 2 3 4 5 6 7 8")],
            [],
            [],
        ),
        (
            text_page("shop/made-up", WORDS),
            [*OTHERS, text_page("shop/x", f"{WORDS} 1 2 3")],
            ["shop/x"],
            [],
        ),
        (
            text_page("shop/made-up", WORDS),
            [*OTHERS, text_page("shop/x", f"{WORDS} 1 2 3 4")],
            [],
            [],
        ),
        (
            text_page("shop/made-up", LONG),
            [*OTHERS, text_page("shop/x", f"{LONG} 1 2 3 4 5 6 7 8 9 10")],
            ["shop/x"],
            [],
        ),
        (
            text_page("shop/made-up", LONG),
            [*OTHERS, text_page("shop/x", f"{LONG} 1 2 3 4 5 6 7 8 9 10 11")],
            [],
            [],
        ),
        (
            text_page("shop/made-up", MISSING, not_judged=NotJudged.TIME),
            [*OTHERS, text_page("shop/x", MISSING)],
            [],
            [],
        ),
        (
            text_page("shop/made-up", "Oh no", "errors", status=404),
            [*OTHERS, text_page("shop/x", "Oh no")],
            ["shop/x"],
            [],
        ),
        (PROBE, [text_page("shop/x", MISSING, status=404)], [], []),
        (PROBE, [text_page("shop/x", MISSING, not_judged=NotJudged.GATE)], [], []),
        (ALIKE, SAME, [], ["shop/"]),
        (ALIKE, [*SAME, *OTHERS[:2]], [], ["shop/"]),
        (text_page("shop/made-up", "All alike", status=404), SAME, [], ["shop/"]),
        (ALIKE, [*SAME, *OTHERS], [f"shop/same{n}" for n in range(4)], []),
        (ALIKE, [SAME[0], *OTHERS[:1]], [], ["shop/"]),
        (ALIKE, [SAME[0], *OTHERS[:2]], ["shop/same0"], []),
        (None, OTHERS, [], []),
        (None, [text_page("404.html", "404"), *OTHERS], ["404.html"], []),
        (None, [text_page("de/404/", "404"), *OTHERS], ["de/404/"], []),
        (None, [text_page("x/404/", "404"), *OTHERS], [], []),
        (None, [text_page("404.html", "A route"), *OTHERS], [], []),
        (None, [text_page("a", "A route", file="404.html")], ["a"], []),
        (None, [text_page("a", "This page was not found")], ["a"], []),
        (None, [text_page("a", "A route", file="a.html")], [], []),
    ],
)
def test_soft_errors(
    probe: PageVisit | None,
    pages: list[PageVisit],
    soft: list[str],
    distrusted: list[str],
) -> None:
    """The made-up page is believed where real pages differ from it, or where it says so itself."""
    probes = {} if probe is None else {f"{SITE}shop/": probe}
    found = find_soft_errors(probes, pages)
    assert found.urls == {SITE + path for path in soft}
    assert found.distrusted == tuple(SITE + folder for folder in distrusted)


def moved(path: str, final: str) -> PageVisit:
    return text_page(path, f"The page of {final or 'home'}", final)


@pytest.mark.parametrize(
    ("probes", "pages", "soft"),
    [
        # a made-up page that leads to the start page: so do others that are missing
        ({"shop/": moved("shop/made-up", "")}, [moved("shop/x", "")], ["shop/x"]),
        ({"shop/": moved("shop/made-up", "")}, [moved("blog/x", "")], []),
        (
            {"shop/": moved("shop/made-up", "")},
            [text_page("shop/y", "The page of home")],
            [],
        ),
        ({"shop/": moved("shop/made-up", "")}, [moved("", "")], []),
        ({"shop/": moved("shop/made-up", "")}, [moved("shop/x", "shop/y")], []),
        # of an error page by its status, the text counts, in other folders of its host too
        (
            {"shop/": text_page("shop/made-up", "Oh no", status=400)},
            [text_page("blog/x", "Oh no"), text_page("blog/y", "A"), moved("z", "b/")],
            ["blog/x"],
        ),
        # the pages of the errors themselves do not show that it is like all others
        (
            {"": text_page("made-up", "Oh no", status=404)},
            [text_page("404", "Oh no"), text_page("404.htm", "Oh no"), visit("a")],
            ["404", "404.htm"],
        ),
        (
            {"shop/": text_page("shop/made-up", "Oh no")},
            [text_page("blog/x", "Oh no"), text_page("blog/y", "A"), moved("z", "b/")],
            [],
        ),
        # a page that leads to where all that is missing has one text
        (
            {"shop/": PROBE},
            [*OTHERS, text_page("old", MISSING, "shop/none")],
            ["old"],
        ),
        # a start page that stands for missing pages is itself a real one
        (
            {"": text_page("made-up", MISSING)},
            [text_page("", MISSING), text_page("index.html", MISSING), *OTHERS],
            [],
        ),
    ],
)
def test_soft_errors_of_redirects_and_hosts(
    probes: Mapping[str, PageVisit], pages: list[PageVisit], soft: list[str]
) -> None:
    """A made-up page speaks for its folder, for where it leads, and by its status for its host."""
    by_folder = {SITE + folder: probe for folder, probe in probes.items()}
    found = find_soft_errors(by_folder, pages)
    assert found.urls == {SITE + path for path in soft}
    assert found.distrusted == ()


def test_a_made_up_path_is_always_the_same() -> None:
    """A later audit asks for the same one."""
    assert make_up_path(SITE) == f"{SITE}sitemapreader-f1b06dec1631"


def test_what_is_no_url_has_no_folder() -> None:
    """It is judged by its own words."""
    page = PageVisit("nonsense", "nonsense", status=200, facts=PageFacts("nonsense"))
    assert find_soft_errors({}, [page]).urls == frozenset()
