"""Texts that name something: the moments, hosts and patterns that they mean, at their limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader._types.dates import (
    MAX_DATE_CHARS,
    has_zone,
    is_over,
    latest_moment,
    parse_http_date,
    parse_last_modified,
    parse_lastmod,
)
from sitemapreader._types.errors import FetchError
from sitemapreader._types.hosts import HostMap
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import UrlEntry
from sitemapreader._types.patterns import is_glob
from sitemapreader._types.rows import (
    EntryColumns,
    SiteRows,
    count_odd,
    is_recent,
    join_output,
    select_rows,
)
from sitemapreader._types.urls import (
    are_clean_urls,
    check_url,
    find_base,
    folder_of,
    is_robots_url,
    move_to_origin,
    name_as_site,
    path_of,
    read_loc,
    remove_login,
    server_of,
    split_target,
    trim,
    write_target,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MAIL = "Sun, 06 Nov 1994 08:49:37 GMT"
MOMENT = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)

# -- dates


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (MAIL, MOMENT),
        ("Sunday, 06-Nov-94 08:49:37 GMT", MOMENT),
        ("Sun Nov  6 08:49:37 1994", MOMENT),
        ("Sun, 06 Nov 1994 09:49:37 +0100", MOMENT),
        (MAIL + " " * (MAX_DATE_CHARS - len(MAIL)), MOMENT),
        (MAIL + " " * (MAX_DATE_CHARS - len(MAIL) + 1), None),
        ("", None),
        ("soon", None),
        ("Sun, 36 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 99999999999999999999 08:49:37 GMT", None),
    ],
)
def test_dates_of_http(text: str, moment: datetime | None) -> None:
    """All three forms are read, as moments in UTC; a long text is none."""
    found = parse_http_date(text)
    assert found == moment
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("Tue, 01 Jan 1991 00:00:00 GMT", 1991),
        ("Mon, 31 Dec 1990 23:59:59 GMT", None),
        ("1991-01-01", 1991),
        ("1980-01-01", None),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 1994),
        ("1", None),
    ],
)
def test_a_date_before_the_web_dates_no_version(text: str, year: int | None) -> None:
    """It is one that a build gives to all files."""
    found = parse_last_modified(text)
    assert (found and found.year) == year


def moment_of(text: str) -> datetime:
    found = parse_lastmod(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "latest"),
    [
        ("2026-01-31T10:20:30Z", "2026-01-31T10:20:30.999999Z"),
        ("2026-01-31T10:20:30", "2026-01-31T22:20:30.999999Z"),
        ("2026-01-31T10:20Z", "2026-01-31T10:20:59.999999Z"),
        ("2026-01-31", "2026-02-01T11:59:59.999999Z"),
        ("2026-01", "2026-02-01T11:59:59.999999Z"),
        ("2026-02", "2026-03-01T11:59:59.999999Z"),
        ("2026", "2027-01-01T11:59:59.999999Z"),
        ("31 Jan 2026", "2026-02-01T11:59:59.999999Z"),
    ],
)
def test_the_last_moment_of_a_date(text: str, latest: str) -> None:
    """The end of what it names, in the last zone of the world if it names none."""
    assert latest_moment(moment_of(text), text) == moment_of(latest)


def test_the_last_moment_of_the_last_year() -> None:
    """It ends with the time that a datetime can tell."""
    for text in ("9999", "9999-12", "9999-12-31", "9999-12-31T23:59:59"):
        found = latest_moment(moment_of(text), text)
        assert found == datetime.max.replace(tzinfo=UTC) - timedelta.resolution or (
            found == datetime.max.replace(tzinfo=UTC)
        )
        assert not is_over(moment_of(text), text, datetime(9999, 12, 31, tzinfo=UTC))
    assert latest_moment(None, "") is None


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2026-01-31T10:20:30Z", "2026-01-31T10:20:31Z"),
        ("2026-01-31T10:20:00Z", "2026-01-31T10:21:01Z"),
        ("2026-01-31T10:20:00.000Z", "2026-01-31T10:21:01Z"),
        ("2026-01-31T10:20:00.5Z", "2026-01-31T10:20:01.5Z"),
        ("2026-01-31T10:20Z", "2026-01-31T10:21Z"),
        ("2026-01-31T00:00:00Z", "2026-02-01T00:00:01Z"),
        ("2026-01-31T00:00:00.0Z", "2026-02-01T00:00:01Z"),
        ("2026-01-31T00:00Z", "2026-02-01T00:01Z"),
        ("2026-01-31 00:00:01Z", "2026-01-31T00:00:02Z"),
        ("2026-01-31", "2026-02-01T12:00:00Z"),
    ],
)
def test_when_a_date_is_over(text: str, end: str) -> None:
    """A time that may be cut lasts for its whole day or minute."""
    moment, last = moment_of(text), moment_of(end)
    assert is_over(moment, text, last)
    assert not is_over(moment, text, last - timedelta(microseconds=1))


@pytest.mark.parametrize(
    ("text", "is_zoned"),
    [
        ("2026-01-01T10:00Z", True),
        ("2026-01-01T10:00", False),
        ("2026-01-01", False),
        ("x", False),
        ("1 Jan 2026 10:00 GMT", True),
        ("1 Jan 2026 10:00", False),
    ],
)
def test_a_date_with_its_zone(text: str, is_zoned: bool) -> None:
    """A day never has one, and neither has what is no date."""
    assert has_zone(text) is is_zoned


@pytest.mark.parametrize("zone", ["Z", "+00:00", "-00:00", "+0000", " GMT", " +0000"])
def test_the_zone_of_greenwich_has_one_name(zone: str) -> None:
    """Whatever its notation, for it is written again."""
    assert moment_of(f"2026-01-01T10:00:00{zone}").tzinfo is UTC
    assert moment_of("1 Jan 2026 10:00 UT").tzinfo is UTC


# -- URLs


@pytest.mark.parametrize(
    ("url", "root", "target"),
    [
        ("https://a.example", "https://a.example/", ""),
        ("https://a.example/a b?c=é#d", "https://a.example/", "/a%20b?c=%C3%A9"),
        ("https://a.example/%zz%2F", "https://a.example/", "/%25zz%2F"),
        ("HTTPS://u:p@A.example:8/?", "HTTPS://u:p@A.example:8/", "/?"),
        (" https://a.example/\tx", "https://a.example/", "/x"),
    ],
)
def test_what_is_requested_of_a_url(url: str, root: str, target: str) -> None:
    """Path and query as they are written, but for what no request may have."""
    assert split_target(url) == (root, target)
    assert write_target(url) == target


@pytest.mark.parametrize(
    ("url", "bare", "moved"),
    [
        (
            "https://u:p@a.example/x?y#z",
            "https://a.example/x?y#z",
            "http://u:p@b:8/x?y",
        ),
        ("https://a.example", "https://a.example", "http://b:8"),
    ],
)
def test_logins_and_origins_of_urls(url: str, bare: str, moved: str) -> None:
    """A login is removed alone, and stays where the origin changes."""
    assert remove_login(url) == bare
    assert move_to_origin(url, "http://b:8") == moved


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.example./", "https://a.example/"),
        ("https://a.example.:80", "https://a.example:80"),
        ("https://a.example///", "https://a.example/"),
        ("https://a.example//x", "https://a.example//x"),
        ("https://a.example/?type=1#x", "https://a.example/?type=1"),
        ("https://a.example", "https://a.example"),
    ],
)
def test_the_name_of_a_site(url: str, name: str) -> None:
    """No final dot, no path of slashes, no fragment."""
    assert name_as_site(url) == name


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a%20b", "a%20b"),
        ("file:///a%20b", "/a b"),
        ("FILE:/a", "/a"),
        ("file://localhost/a", "/a"),
        ("file://host/a%20b", "file://host/a%20b"),
        ("https://a.example/a%20b", "https://a.example/a%20b"),
    ],
)
def test_the_path_of_a_file_url(text: str, path: str) -> None:
    """Only of this machine; any other text stays as it is."""
    assert path_of(text) == path


@pytest.mark.parametrize(
    ("url", "is_robots"),
    [
        ("https://a.example/ROBOTS.txt?x#y", True),
        ("https://a.example/x/robots.txt", True),
        ("https://a.example/robots.txt/", False),
        ("https://a.example/?/robots.txt", False),
        ("https://a.example/xrobots.txt", False),
    ],
)
def test_a_robots_url(url: str, is_robots: bool) -> None:
    """By its path, in any folder and any case."""
    assert is_robots_url(url) is is_robots


BASE = "https://a.example/maps/s.xml"


@pytest.mark.parametrize(
    ("reference", "base"),
    [
        ("/x/", "https://a.example/x/"),
        (" x ", "https://a.example/maps/x"),
        ("mailto:x", BASE),
        ("a.example/x/", "https://a.example/x/"),
        ("/" + "x" * 2_029, "https://a.example/" + "x" * 2_029),
        ("/" + "x" * 2_030, "about:invalid"),
        ("x" * 2_048, "about:invalid"),
    ],
)
def test_the_base_that_an_element_names(reference: str, base: str) -> None:
    """One that is too long leads nowhere; one that is no URL is ignored."""
    assert find_base(BASE, reference) == base


RELATIVE = [IssueCode.RELATIVE_LOC]
LONG = "https://a.example/" + "x" * 2_030


@pytest.mark.parametrize(
    ("text", "base", "url", "codes"),
    [
        ("https://b.example/", BASE, "https://b.example/", []),
        (
            "\u200bhttps://b.example/ ",
            BASE,
            "https://b.example/",
            [IssueCode.URL_CHARACTERS],
        ),
        (
            "https://b.example/a b",
            BASE,
            "https://b.example/a b",
            [IssueCode.URL_CHARACTERS],
        ),
        (LONG, BASE, LONG, [IssueCode.LONG_LOC]),
        (LONG[:-1], BASE, LONG[:-1], []),
        ("/x", BASE, "https://a.example/x", RELATIVE),
        (
            "/a b",
            BASE,
            "https://a.example/a b",
            [*RELATIVE, IssueCode.URL_CHARACTERS],
        ),
        (
            "\u200b/x",
            BASE,
            "https://a.example/x",
            [*RELATIVE, IssueCode.URL_CHARACTERS],
        ),
        ("a.example/x", BASE, "https://a.example/x", RELATIVE),
        ("b.a.example/x", BASE, "https://b.a.example/x", RELATIVE),
        (
            "b.example/x",
            BASE,
            "https://a.example/maps/b.example/x",
            RELATIVE,
        ),
        (
            "u@a.example/x",
            BASE,
            "https://a.example/maps/u@a.example/x",
            RELATIVE,
        ),
        ("/x", "", "", [IssueCode.MISSING_BASE]),
        ("ftp://b.example/", BASE, "", [IssueCode.UNSUPPORTED_SCHEME]),
        ("ftp://b.example/", "", "", [IssueCode.UNSUPPORTED_SCHEME]),
        ("+https://b.example/", BASE, "", [IssueCode.MALFORMED]),
        ("localhost:3000/x", BASE, "", [IssueCode.HOST_NOT_PUBLIC]),
        ("undefined/x", BASE, "", [IssueCode.HOST_NOT_PUBLIC]),
        (
            "localhost/x",
            "http://localhost/s.xml",
            "http://localhost/x",
            RELATIVE,
        ),
        ("https://b.example/{{x}}", BASE, "", [IssueCode.TEMPLATE]),
        ("https:///x", BASE, "", [IssueCode.MALFORMED]),
        ("https://b.example/\ufffd", BASE, "", [IssueCode.MALFORMED]),
        ("x", "https://a.example/{{y}}/", "", [IssueCode.TEMPLATE]),
    ],
)
def test_a_loc_and_its_issues(
    text: str, base: str, url: str, codes: list[IssueCode]
) -> None:
    """A URL is delivered with its warnings, or dropped for one reason."""
    assert read_loc(text, base) == (url, codes)


@pytest.mark.parametrize(
    ("locs", "are_clean"),
    [
        ([], False),
        (["/x"], False),
        (["https://a.example/"] * 3, True),
        (["https://a.example/", "https://b.example/", "http://a.example/é"], True),
        (["https://a.example/", "/x"], False),
        (["https://a.example/", "https:///x"], False),
        *(
            (["https://a.example/", f"https://a.example/{c}"], False)
            for c in " {<\t\x7f"
        ),
        (["https://a.example/\u200b"], False),
        ([LONG[:-1], LONG[:-1]], True),
        ([LONG[:-1], LONG], False),
    ],
)
def test_urls_that_need_no_look(locs: Sequence[str], are_clean: bool) -> None:
    """All are absolute, without an error or a warning."""
    assert are_clean_urls(locs) is are_clean


def test_small_functions_of_urls() -> None:
    """Hosts without a port of the web, folders with their slash, and texts without blanks."""
    assert server_of("https://a.example:443/x") == "a.example"
    assert server_of("http://a.example:8080/x") == "a.example:8080"
    assert server_of("nonsense") == ""
    assert folder_of("https://a.example/x/y?z=/w") == "https://a.example/x/"
    assert folder_of("nonsense") == "nonsense"
    assert [trim(text) for text in (" a ", "\ufeff\u200b", "\u200b a\xa0b \u2060")] == [
        "a",
        "",
        "a\xa0b",
    ]
    assert check_url("site", " https://a.example ") == "https://a.example"
    for wrong in ("a.example", "https://", "ftp://a.example/"):
        with pytest.raises(ValueError, match="site must be a full URL such as"):
            check_url("site", wrong)
    with pytest.raises(TypeError, match="site must be a text, got int"):
        check_url("site", 3)


@pytest.mark.parametrize(
    ("hosts", "url", "target"),
    [
        (
            {"a.example": "b.example"},
            "https://u@A.example./x?y#z",
            "https://u@b.example/x?y",
        ),
        ({"a.example": "http://b:8"}, "http://a.example:80/x", "http://b:8/x"),
        ({"a.example": "b.example"}, "https://a.example:8/x", ""),
        ({"a.example:8": "b.example"}, "https://a.example:8/x", "https://b.example/x"),
        ({"a.example": "b.example"}, "nonsense", ""),
        ({}, "https://a.example/", ""),
    ],
)
def test_a_mapped_host(hosts: dict[str, str], url: str, target: str) -> None:
    """It stands for both schemes, and for one port if it is written with one."""
    found = HostMap(hosts)
    assert found.find(url) == target
    assert bool(found) is bool(hosts)
    names = list(zip(hosts, hosts.values(), strict=True))
    used = found.list_used([url, "https://c.example/", "nonsense"])
    assert len(used) == (len(names) if target else 0)


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ("a", "must be a dict"),
        ({"a": 3}, "hosts as text, got int"),
        ({"a/x": "b"}, "'a/x' is not a host"),
        ({"a": "b?x"}, "'b\\?x' is not a host"),
        ({"a": "b#"}, "'b#' is not a host"),
        ({"u:p@a": "b"}, "'a' is not a host"),
        ({"ftp://a": "b"}, "'ftp://a' is not a host"),
        ([("a", "b"), ("http://a", "c")], "has two targets: https://c.* and"),
        ({"a": "b", "b": "c"}, "leads to .*b.*, which is mapped itself"),
    ],
)
def test_a_host_that_cannot_be_mapped(hosts: Any, said: str) -> None:
    """The message says what it must be."""
    with pytest.raises((TypeError, ValueError), match=said):
        HostMap(hosts)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("/blog/*", True),
        ("*.pdf", True),
        ("*/a$", True),
        ("/blog/", False),
        ("/blog/.*", False),
        ("/blog/*(a)", False),
        ("*(a|b)", False),
        ("^/a*", False),
        ("/a?x=*", True),
    ],
)
def test_a_glob(text: str, is_one: bool) -> None:
    """It has a star, and nothing that only an expression has."""
    assert is_glob(text) is is_one


# -- rows


def columns(*locs: str) -> EntryColumns:
    return EntryColumns(locs, [BASE] * len(locs))


def test_rows_of_several_sites() -> None:
    """They are columns if all of them are; each row has its site."""
    objects = [UrlEntry("/c")]
    both = SiteRows([("x", columns("/a", "/b")), ("y", columns("/c"))])
    assert both.columns is not None
    assert both.columns.loc == ["/a", "/b", "/c"]
    assert (len(both), both.get("site")) == (3, ["x", "x", "y"])
    mixed = SiteRows([("x", columns("/a", "/b")), ("y", objects)])
    assert mixed.columns is None
    assert (len(mixed), mixed.get("loc")) == (3, ["/a", "/b", "/c"])
    assert SiteRows([]).columns is None
    joined = join_output([both, mixed])
    assert isinstance(joined, SiteRows)
    assert joined.parts == both.parts + mixed.parts
    assert join_output([objects, objects]) == objects * 2
    assert join_output([]) == []


def test_rows_that_have_a_mark() -> None:
    """All of them are the same rows."""
    rows = columns("/a", "/b")
    assert select_rows(rows, [True, True]) is rows
    chosen = select_rows(rows, [False, True])
    assert isinstance(chosen, EntryColumns)
    assert (chosen.loc, len(chosen[:0]), chosen.lastmod) == (["/b"], 0, None)
    assert select_rows([1, 2], [True, False]) == [1]  # type: ignore[list-item,comparison-overlap]


def test_entries_without_a_date_and_from_the_future() -> None:
    """A day ahead of now is none of them, in any zone."""
    now = datetime.now(UTC)
    hours = (None, -1, 23, 25)
    entries = [
        UrlEntry("/", lastmod=None if each is None else now + timedelta(hours=each))
        for each in hours
    ]
    assert count_odd(entries) == (1, 1)
    assert count_odd([]) == (0, 0)


SINCE = datetime(2026, 3, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("entry", "passes"),
    [
        (UrlEntry("/"), None),
        (UrlEntry("/", lastmod=SINCE), True),
        (UrlEntry("/", lastmod=SINCE - timedelta(seconds=1), lastmod_text="x:"), False),
        (
            UrlEntry(
                "/", lastmod=datetime(2026, 3, 5, tzinfo=UTC), lastmod_text="2026-03-05"
            ),
            True,
        ),
        (
            UrlEntry(
                "/", lastmod=datetime(2026, 3, 3, tzinfo=UTC), lastmod_text="2026-03-03"
            ),
            False,
        ),
    ],
)
def test_entries_since_a_moment(entry: UrlEntry, passes: bool | None) -> None:
    """A day passes if any of its moments does; without a date the caller decides."""
    for keeps in (True, False):
        found = is_recent(entry, SINCE, keep_undated=keeps)
        assert found is (keeps if passes is None else passes)


@pytest.mark.parametrize(
    ("status", "is_absent"),
    [(400, True), (404, True), (499, True), (407, False), (429, False), (500, False)],
)
def test_a_status_that_means_absence(status: int, is_absent: bool) -> None:
    """All of 4xx but two."""
    for code, holds in ((IssueCode.HTTP_STATUS, is_absent), (IssueCode.TIMEOUT, False)):
        assert FetchError(code, "u", http_status=status).is_absent is holds
    assert not FetchError(IssueCode.HTTP_STATUS, "u").is_absent


def test_a_zone_is_kept() -> None:
    """Of a date with one, for it is written again."""
    found = moment_of("2026-01-01T10:00:00-03:30")
    assert found.tzinfo == timezone(-timedelta(hours=3, minutes=30))
    assert found.isoformat() == "2026-01-01T10:00:00-03:30"
