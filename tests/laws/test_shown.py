"""What is shown of documents and Issues, and which values an option takes, to the letter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sitemapreader import Changes, FetchOptions, Limits, Sample, Search
from sitemapreader._types.issues import (
    MAX_EXCERPT,
    Issue,
    IssueCode,
    excerpt,
    without_userinfo,
)
from sitemapreader._types.models import Format, SitemapEntry, Via
from sitemapreader._types.outcomes import Document, Role, Status, make_document

URL = "https://a.example/s.xml"
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def make(**values: Any) -> Document:
    document = make_document(SitemapEntry(URL, via=Via.ROBOTS))
    for name, value in {"status": Status.COMPLETE, **values}.items():
        setattr(document, name, value)
    return document


@pytest.mark.parametrize(
    ("document", "shown"),
    [
        (make(), "complete"),
        (make(format=Format.URLSET, entries=1), "urlset, complete, 1 URL"),
        (
            make(entries=2, children=1, filtered=3, known=4),
            "complete, 2 URLs, 1 sitemap, 3 left out, 4 known",
        ),
        (make(role=Role.ROBOTS, children=2), "robots, complete, 2 sitemaps"),
        (
            make(status=Status.FAILED, reason="http-status", http_status=404),
            "failed (http-status 404)",
        ),
        (make(status=Status.FAILED, reason="http-status"), "failed (http-status)"),
        (
            make(status=Status.FAILED, reason="timeout", http_status=500),
            "failed (timeout)",
        ),
        (make(tries=1), "complete"),
        (make(tries=2), "complete, 2 tries"),
        (make(bytes_raw=10, bytes_inflated=10), "complete, 10 B"),
        (make(bytes_raw=10, bytes_inflated=2_048), "complete, 10 B -> 2.0 KiB"),
        (make(lastmod=DAY), "complete, lastmod 2026-01-01T00:00:00+00:00"),
    ],
)
def test_a_document_in_one_line(document: Document, shown: str) -> None:
    """What it is, how it ended, and what was in it."""
    assert str(document) == f"{URL}  {shown}"
    assert repr(document) == f"<Document {URL}  {shown}>"


def test_a_document_as_plain_values() -> None:
    """Names of statuses, moments as texts, and its Issues by their codes."""
    document = make(lastmod=DAY, entries=3)
    assert document.to_dict()["issues"] == {}
    assert document.count_issues(IssueCode.LASTMOD) == 1
    assert document.count_issues(IssueCode.LASTMOD, 4) == 5
    found = document.to_dict()
    assert (type(found["status"]), found["status"]) == (str, "complete")
    assert (found["via"], found["entries"]) == ("robots", 3)
    assert found["lastmod"] == "2026-01-01T00:00:00+00:00"
    assert found["issues"] == {"lastmod": 5}


CODE = IssueCode.LASTMOD
SAID = f"{CODE.meaning}: {CODE.advice}"


@pytest.mark.parametrize(
    ("issue", "shown"),
    [
        (Issue.make(CODE), SAID),
        (Issue.make(CODE, URL), f"{URL}: {SAID}"),
        (Issue.make(CODE, URL, line=3), f"{URL}, line 3: {SAID}"),
        (Issue.make(CODE, line=3), f"line 3: {SAID}"),
        (Issue.make(CODE, URL, value="a\nb"), f"{URL}: {SAID} [a\\nb]"),
        (
            Issue.make(CODE, "https://u:p@a.example/", value="https://u:p@b/"),
            f"https://a.example/: {SAID} [https://b/]",
        ),
    ],
)
def test_an_issue_in_one_line(issue: Issue, shown: str) -> None:
    """Where it is, what is wrong, and with what; passwords are left out."""
    assert str(issue) == shown
    assert issue.to_dict() == {
        "code": "lastmod",
        "severity": CODE.severity.name.lower(),
        "message": SAID,
        "sitemap": issue.sitemap,
        "line": issue.line,
        "url": None,
        "value": issue.value,
        "dropped": False,
    }
    assert Issue.make(CODE, url="https://u:p@b/\n", dropped=True).url == "https://b/\\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a" * MAX_EXCERPT, "a" * MAX_EXCERPT),
        ("a" * (MAX_EXCERPT + 1), "a" * MAX_EXCERPT + "…"),
        ("a\x00\x1b\u202e\xa0\u2003b", "a\\x00\\x1b\\u202e\xa0\u2003b"),
        ("é", "é"),
        ("\ud800", "\\ud800"),
    ],
)
def test_foreign_text_is_harmless(text: str, shown: str) -> None:
    """It is cut, and controls are written out; blanks of any language stay."""
    assert excerpt(text) == shown
    assert without_userinfo(text) == text
    assert without_userinfo(f"x https://u:p@a/ {text}") == f"x https://a/ {text}"


AnyFetchOptions: Any = FetchOptions
AnyLimits: Any = Limits
AnySearch: Any = Search


@pytest.mark.parametrize(
    ("make_options", "kind", "said"),
    [
        (
            lambda: AnyLimits(max_time=30),
            TypeError,
            "max_time must be a timedelta, got 30: write timedelta(minutes=30)",
        ),
        (
            lambda: AnyLimits(max_time=timedelta(0)),
            ValueError,
            "max_time must be positive, got datetime.timedelta(0)",
        ),
        (
            lambda: AnyLimits(max_urls=0),
            ValueError,
            "max_urls must be at least 1, got 0",
        ),
        (
            lambda: AnyLimits(max_urls=True),
            TypeError,
            "max_urls must be a whole number, got True",
        ),
        (
            lambda: AnyLimits(max_urls=2.5),
            TypeError,
            "max_urls must be a whole number, got 2.5",
        ),
        (lambda: Sample(0), ValueError, "sample must be at least 1, got 0"),
        (lambda: Changes("x", gone=-1), ValueError, "gone must be at least 0, got -1"),
        (
            lambda: Changes("x", revisit=0),
            ValueError,
            "revisit must be at least 1, got 0",
        ),
        (
            lambda: AnySearch(extra_paths="x"),
            TypeError,
            "extra_paths must be a tuple: write ('x',), not 'x'",
        ),
        (
            lambda: AnySearch(extra_paths=("/",)),
            ValueError,
            "extra_paths must be paths such as '/maps/all.xml', got '/': pass URLs with sitemaps=",
        ),
        (
            lambda: AnySearch(extra_paths=(URL,)),
            ValueError,
            (
                f"extra_paths must be paths such as '/maps/all.xml', got {URL!r}:"
                f" pass URLs with sitemaps="
            ),
        ),
        (
            lambda: AnySearch(extra_paths=("x",), probe="never"),
            ValueError,
            "extra_paths cannot be combined with probe='never'",
        ),
        (
            lambda: AnySearch(extra_formats="html"),
            TypeError,
            "extra_formats must be a set: write {'html'}, not 'html'",
        ),
        (
            lambda: AnyFetchOptions(proxy="socks5://u:secret@a"),
            ValueError,
            (
                "`proxy` must be the URL of an HTTP proxy, such as"
                " 'http://proxy.example:3128', or 'environment'"
            ),
        ),
        (
            lambda: AnyFetchOptions(headers={"a b": "c"}),
            ValueError,
            "'a b' cannot be the name of a header: write letters, digits and hyphens",
        ),
        (
            lambda: AnyFetchOptions(headers={"a": "secret\n"}),
            ValueError,
            "the value of the header a has control characters: remove them",
        ),
        (
            lambda: AnyFetchOptions(headers={"a": 3}),
            TypeError,
            "`headers` must be a dict of texts: write headers={'Accept-Language': 'en'}",
        ),
        (
            lambda: AnyFetchOptions(user_agent=" "),
            ValueError,
            "`user_agent` must be a line of text, got ' '",
        ),
        (
            lambda: AnyFetchOptions(user_agent="a\nb"),
            ValueError,
            "`user_agent` must be a line of text, got 'a\\nb'",
        ),
        (
            lambda: AnyFetchOptions(identity=3),
            TypeError,
            "`identity` must be an Identity, got int",
        ),
    ],
)
def test_a_value_that_an_option_does_not_take(
    make_options: Any, kind: type[Exception], said: str
) -> None:
    """The message has the name and the value, unless that may be a secret."""
    with pytest.raises(kind) as refused:
        make_options()
    assert str(refused.value) == said


def test_values_that_options_take() -> None:
    """Those at the limits, and what is left out."""
    assert Limits(max_urls=1, max_time=timedelta.resolution).max_urls == 1
    assert Limits().max_urls is None
    assert Sample(1).number == 1
    assert Changes("x", gone=0, revisit=1).revisit == 1
    assert Changes("x").revisit is None
    assert Search(extra_paths=("/a/", "b")).extra_paths == ("a/", "b")
    assert Search(probe="never").extra_formats == frozenset()
    assert AnySearch(extra_formats={"html"}).extra_formats == {Format.HTML}
    assert FetchOptions(proxy="http://a:3128").proxy == "http://a:3128"
    assert FetchOptions(user_agent="x").user_agent == "x"
