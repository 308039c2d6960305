"""`_redirects` and `_headers` answer as the hosts do that read them."""

from __future__ import annotations

import pytest

from sitemapreader.pages.folder import HostHeaders, HostRedirects

RULES = """
# comment
/old /new
/old /never 302
/temporary/ /new/ 302  # why
/blog/* /posts/:splat
/:year/:name.html /archive/:year/:name 301
/app/* /app/index.html 200
/files/* /other/:splat 301!
/gone /404.html 404
/lost /x 410
/de/* /deutsch/:splat 302 Language=de
/query id=:id /q/:id 301
/bad /x 999
relative /x
/none
/abroad https://other.example/:splat
"""


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/old", (301, "/new", False)),
        ("/old/", (301, "/new", False)),
        ("/temporary", (302, "/new/", False)),
        ("/blog/a/b", (301, "/posts/a/b", False)),
        ("/blog", (301, "/posts/", False)),
        ("/blogs", None),
        ("/2026/x.html", (301, "/archive/2026/x", False)),
        ("/app/any", (200, "/app/index.html", False)),
        ("/files/x", (301, "/other/x", True)),
        ("/gone", (404, "/404.html", False)),
        ("/lost", (410, "/x", False)),
        ("/de/x", None),
        ("/query", None),
        ("/bad", None),
        ("/none", None),
        ("/abroad", (301, "https://other.example/:splat", False)),
        ("/", None),
    ],
)
def test_redirects(path: str, answer: tuple[int, str, bool] | None) -> None:
    """The first line that matches answers; lines with conditions or faults answer nothing."""
    found = HostRedirects(RULES).find(path)
    assert (found and (found.status, found.target, found.is_forced)) == answer


def test_the_first_line_counts_whatever_its_kind() -> None:
    """A pattern before a plain path goes first, one behind it does not; 10,000 lines are read."""
    redirects = HostRedirects("/a/x /one\n/a/* /two\n/a/y /three")
    found = [redirects.find(f"/a/{name}") for name in "xy"]
    assert [each and each.target for each in found] == ["/one", "/two"]
    assert HostRedirects("/x /y\n" * 9_999 + "/a /b\n/c /d\n").find("/a")
    assert HostRedirects("/x /y\n" * 9_999 + "/a /b\n/c /d\n").find("/c") is None


def test_headers() -> None:
    """All blocks that match count, in their order; a path may be a whole URL."""
    headers = HostHeaders(
        "/*\n\n# no\n  # no\n  X-Robots-Tag: noindex\n"
        "/docs/*\n\tLink: </x>; rel=canonical\n  bad line\n"
        "https://a.example/docs/:page\n  X-Robots-Tag: none\n/empty\n"
    )
    assert headers.find("/") == {"x-robots-tag": "noindex"}
    found = {"x-robots-tag": "noindex\nnone", "link": "</x>; rel=canonical"}
    assert headers.find("/docs/a") == found


def test_paths_that_no_host_knows() -> None:
    """Several placeholders in a segment, or of one name, answer nothing."""
    asked = "/" + "a" * 2_000
    for path in (
        "/*a*a*a*a*a*b",
        "/" + "".join(f":n{i}" for i in range(9)) + "/x",
        "/:a*b",
        "/:a/:a",
        "/:a²",
    ):
        rules = HostRedirects(f"{path} /y\n/ok /x\n")
        assert rules.find(asked) is None
        assert rules.find("/ok") is not None
        assert HostHeaders(f"{path}\n  X-Robots-Tag: noindex\n").find(asked) == {}
