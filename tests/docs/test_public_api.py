"""The public names: a sorted list, complete, and each with its words."""

from __future__ import annotations

import ast
import gzip
import inspect
import re
from importlib import import_module
from types import ModuleType

import pytest

import sitemapreader
from sitemapreader import FetchError, IssueCode, SiteRun, walk_many
from sitemapreader._types.moved import MOVED_NAMES
from sitemapreader._types.urls import origin_of
from sitemapreader.fetch import MemoryFetcher, StoredResponse, charset_of, read_body
from sitemapreader.pages import page_type_of
from tests.support import package

API = (
    # values
    "Change",
    "Event",
    "Format",
    "Issue",
    "IssueCode",
    "Severity",
    "SitemapEntry",
    "UrlEntry",
    "Via",
    # one sitemap
    "SitemapReader",
    "read",
    # a site
    "Discovery",
    "Document",
    "Report",
    "Role",
    "State",
    "Status",
    "Walk",
    "discover",
    "discover_sync",
    "Newest",
    "newest",
    "newest_sync",
    "walk",
    "walk_sync",
    # many sites
    "SiteOutcome",
    "SiteRun",
    "SiteStatus",
    "SiteTask",
    "walk_many",
    "walk_many_sync",
    "Watch",
    "watch",
    "watch_sync",
    # choices
    "Changes",
    "FetchOptions",
    "Follow",
    "Limits",
    "Sample",
    "Search",
    # exceptions
    "FetchError",
    "SitemapReaderError",
)
EXPORTED = sitemapreader.__all__


def described(name: str) -> list[tuple[str, object]]:
    """List an object and, of a class of ours, its public methods and properties."""
    thing = getattr(sitemapreader, name)
    found = [(name, thing)]
    if inspect.isclass(thing):
        found += [
            (f"{name}.{attribute}", value)
            for attribute, value in vars(thing).items()
            if not attribute.startswith("_")
            and (inspect.isfunction(value) or isinstance(value, property | classmethod))
        ]
    return found


def test_the_list_is_sorted_and_free_of_repeats() -> None:
    """`__all__` is a sorted list without repeats, so that a change to it is one line."""
    assert list(EXPORTED) == sorted(set(EXPORTED))


def test_names_at_the_top_are_few() -> None:
    """A reader can look through them; what is used in one room is public in that room."""
    assert len(EXPORTED) <= 42


@pytest.mark.parametrize("name", MOVED_NAMES)
def test_a_name_of_0_3_answers_with_where_it_is(name: str) -> None:
    """An import of a name that has moved fails with the import to write instead."""
    instead = MOVED_NAMES[name]
    with pytest.raises(ImportError, match=f"{name}.*write {re.escape(instead)}"):
        getattr(sitemapreader, name)
    with pytest.raises(ImportError, match=re.escape(instead)):
        exec(f"from sitemapreader import {name}")  # noqa: S102 (as a program does)
    if instead.startswith("from "):
        exec(instead)  # noqa: S102 (the same)


def test_type_checkers_see_the_same_names() -> None:
    """The imports for type checkers are those of the table."""
    tree = ast.parse(inspect.getsource(sitemapreader))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        alias.asname or "": node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(imported) == EXPORTED
    for name, module in imported.items():
        same = getattr(import_module(module), name)
        assert getattr(sitemapreader, name) is same


def test_the_list_is_complete() -> None:
    """No name of `__all__` comes or goes unseen, and every public name of the package is in it."""
    assert sorted(API) == sorted(EXPORTED)
    public = {
        name
        for name, value in vars(sitemapreader).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "").startswith("sitemapreader")
    }
    assert public <= set(EXPORTED)


def test_every_name_is_there(subtests: pytest.Subtests) -> None:
    """Each name in `__all__` can be imported, and shows when one looks."""
    for name in EXPORTED:
        with subtests.test(name=name):
            assert getattr(sitemapreader, name) is not None
            assert name in dir(sitemapreader)


def test_every_public_object_is_described(subtests: pytest.Subtests) -> None:
    """Each public class, function, method and property has a docstring of its own.

    `Event` is a union, which can carry none; the text below it in `models` is its description.
    """
    for name in [name for name in API if name != "Event"]:
        with subtests.test(name=name):
            bare = [
                path for path, thing in described(name) if not inspect.getdoc(thing)
            ]
            assert bare == []


def test_docstrings_are_our_own(subtests: pytest.Subtests) -> None:
    """No docstring is the one that a base class or a decorator left behind."""
    for name in [name for name in API if name != "Event"]:
        with subtests.test(name=name):
            thing = getattr(sitemapreader, name)
            inherited = {base.__doc__ for base in inspect.getmro(type(thing))}
            if inspect.isclass(thing):
                inherited = {base.__doc__ for base in inspect.getmro(thing)[1:]}
            assert thing.__doc__ not in inherited


def test_the_version_is_one() -> None:
    """The version is a text of numbers, which the build reads from the package itself."""
    assert all(part.isdigit() for part in sitemapreader.__version__.split("."))


def test_the_package_is_typed() -> None:
    """The marker that tells type checkers to read our annotations is shipped."""
    assert sitemapreader.__file__ is not None
    package = inspect.getfile(sitemapreader).removesuffix("__init__.py")
    with open(package + "py.typed", encoding="utf-8") as marker:  # noqa: PTH123 (one line)
        assert marker.read() == ""


def test_the_reference_has_every_name() -> None:
    """The reference has each name that a public module exports, once."""
    public = package.list_public()
    above = public[""]
    assert above == {*EXPORTED}
    for module in public.keys() - {""}:
        assert package.exports_of(module) <= public[module] | above, module


# -- the small public functions that crawlers and recipes use beside a walk


URL = "https://a.example/page"
GZIP = {"content-encoding": "gzip"}


async def test_a_body_is_read_and_decompressed() -> None:
    """`read_body` returns the decompressed body of a response."""
    fetcher = MemoryFetcher(
        {URL: StoredResponse(URL, gzip.compress(b"Avocets"), headers=GZIP)}
    )
    async with fetcher.open(URL) as response:
        assert await read_body(response, 100) == b"Avocets"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (gzip.compress(bytes(101)), IssueCode.TOO_LARGE),
        (gzip.compress(b"Avocets")[:-10], IssueCode.COMPRESSION_TRUNCATED),
    ],
)
async def test_a_body_that_is_no_good(body: bytes, code: IssueCode) -> None:
    """`read_body` raises FetchError for a body that is too large or cut."""
    fetcher = MemoryFetcher({URL: StoredResponse(URL, body, headers=GZIP)})
    async with fetcher.open(URL) as response:
        with pytest.raises(FetchError) as error:
            await read_body(response, 100)
    assert (error.value.code, error.value.url) == (code, URL)


@pytest.mark.parametrize(
    ("status", "absent"),
    [(404, True), (410, True), (403, True), (429, False), (500, False)],
)
def test_what_counts_as_absent(status: int, absent: bool) -> None:
    """A 4xx status says that there is no document, except those that ask for another request."""
    assert (
        FetchError(IssueCode.HTTP_STATUS, URL, http_status=status).is_absent is absent
    )


def test_a_host_without_an_answer_is_not_absent() -> None:
    """A document whose server cannot be reached may exist."""
    assert not FetchError(IssueCode.CONNECT, URL).is_absent


@pytest.mark.parametrize(
    ("header", "charset"),
    [
        ("text/html; charset=utf-8", "utf-8"),
        ('text/html; Charset="ISO-8859-1"', "ISO-8859-1"),
        ("text/html", None),
    ],
)
def test_the_charset_of_a_header(header: str, charset: str | None) -> None:
    """`charset_of` finds the charset of a Content-Type header."""
    assert charset_of({"content-type": header}) == charset


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://a.example/b?c#d", "https://a.example"),
        ("http://me:secret@A.example:8080/", "http://a.example:8080"),
        ("no URL", ""),
    ],
)
def test_the_origin_of_a_url(url: str, origin: str) -> None:
    """`origin_of` returns scheme, host and port, and "" for what has none."""
    assert origin_of(url) == origin


def test_walk_many_makes_a_site_run() -> None:
    """`SiteRun` is what `walk_many` returns, for annotations."""
    assert isinstance(walk_many(["a.example"]), SiteRun)


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("Text/HTML; charset=utf-8", "text/html"),
        (" application/pdf ", "application/pdf"),
        ("", "text/html"),
        (None, "text/html"),
    ],
)
def test_the_type_of_a_page(header: str | None, kind: str) -> None:
    """A page is of the type that its header names, without parameters, and HTML without one."""
    assert page_type_of(header) == kind


def test_tables_of_arguments_name_arguments() -> None:
    """Each cell below `argument` is one of `walk`, or sets a field of one of its groups."""
    page = (package.ROOT / "docs" / "crawlers.md").read_text("utf-8")
    rows = page.partition("\n| argument |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [re.findall(r"`([^`]+)`", row.split("|")[1]) for row in rows]
    written = [each for names in cells for each in names]
    assert len(written) > 10
    known = inspect.signature(sitemapreader.walk).parameters
    for each in written:
        call = ast.parse(f"walk({each if '=' in each else f'{each}=...'})").body[0]
        assert isinstance(call, ast.Expr)
        assert isinstance(call.value, ast.Call)
        (keyword,) = call.value.keywords
        assert keyword.arg in known, each
        if isinstance(keyword.value, ast.Call):
            group = getattr(sitemapreader, ast.unparse(keyword.value.func))
            fields = inspect.signature(group).parameters
            assert {inner.arg for inner in keyword.value.keywords} <= fields.keys()
