"""The picture of a terminal in the README: it shows what the commands print."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from tests.support import package
from tests.support.commands import run, serving
from tests.support.pictures import draw_terminal
from tests.support.walking import urlset

PICTURE = package.ROOT / "docs" / "terminal.svg"
SITE = "https://shop.example"


def make_shop() -> dict[str, bytes | int]:
    """Make a site with a sitemap that is gone, one that is cut, and one with a bare `&`."""
    children = ("pages", "blog", "products", "archive")
    records = "".join(
        f"<sitemap><loc>HOST/{name}.xml</loc></sitemap>" for name in children
    )
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    blog = urlset(*(f"HOST/blog/{number}" for number in range(40)))
    return {
        "/robots.txt": b"Sitemap: HOST/sitemap.xml\n",
        "/sitemap.xml": f'<sitemapindex xmlns="{namespace}">{records}</sitemapindex>'.encode(),
        "/pages.xml": urlset(*(f"HOST/page/{number}" for number in range(12))),
        "/blog.xml": blog.replace(b"/blog/7<", b"/blog/7?a=1&b=2<"),
        "/products.xml": urlset(*(f"HOST/item/{number}" for number in range(300)))[
            :-300
        ],
        "/archive.xml": 404,
    }


def show_commands() -> list[str]:
    """Run two commands on the shop; return what a terminal shows."""
    with serving(make_shop()) as (base,):
        tree = run("tree", base, "-q")
        urls = run(base)
    count = len(urls.stdout.splitlines())
    shown = [
        f"$ sitemapreader tree {SITE} -q",
        *tree.stdout.splitlines(),
        "",
        f"$ sitemapreader {SITE} | wc -l",
        *sort_issues(urls.stderr.splitlines()),
        str(count),
    ]
    return [line.replace(base, SITE) for line in shown]


def sort_issues(lines: list[str]) -> list[str]:
    """Sort the lines about Issues, which come as their documents do; keep the summary below."""
    issues = [line for line in lines if ": warning " in line or ": error " in line]
    return sorted(issues) + [line for line in lines if line not in issues]


def test_the_picture_shows_what_is_printed(*, regenerate: bool) -> None:
    """The committed picture is that of the output of today, and is well-formed."""
    drawn = draw_terminal("sitemapreader names what it could not read", show_commands())
    if regenerate:
        PICTURE.write_text(drawn, "utf-8")
    assert PICTURE.read_text("utf-8") == drawn
    assert ET.fromstring(drawn).tag.endswith("svg")  # noqa: S314 (it is our own)
