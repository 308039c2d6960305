"""The public names: a sorted list, complete, and each with its words."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import package
import pytest

import sitemapreader

API = (
    # values
    "UrlEntry",
    "SitemapEntry",
    "Image",
    "Video",
    "Restriction",
    "Price",
    "News",
    "Alternate",
    "Extra",
    "Event",
    "Format",
    "Via",
    "Issue",
    "IssueCode",
    "Severity",
    # one sitemap
    "read",
    "SitemapReader",
    # a site
    "discover",
    "discover_sync",
    "Discovery",
    "walk",
    "walk_sync",
    "Report",
    "Document",
    "State",
    "Change",
    "DateSource",
    # what becomes of it
    "open_output",
    "to_dataframe",
    "to_arrow",
    "read_batches",
    "IncompleteWarning",
    # choices
    "Limits",
    "FetchOptions",
    # the seam
    "Fetcher",
    "Response",
    "HttpFetcher",
    "FolderFetcher",
    "MemoryFetcher",
    # exceptions
    "SitemapReaderError",
    "FetchError",
    "StateError",
    "IssueError",
    "IssueGroup",
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


def test_the_list_is_complete() -> None:
    """What is promised is in `__all__`, and so is every public name that the package holds."""
    assert set(API) <= set(EXPORTED)
    public = {
        name
        for name, value in vars(sitemapreader).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "").startswith("sitemapreader")
    }
    assert public <= set(EXPORTED)


@pytest.mark.parametrize("name", EXPORTED)
def test_every_name_is_there(name: str) -> None:
    """Each name in `__all__` can be imported, and shows when one looks."""
    assert getattr(sitemapreader, name) is not None
    assert name in dir(sitemapreader)


@pytest.mark.parametrize("name", [name for name in API if name != "Event"])
def test_every_public_object_is_described(name: str) -> None:
    """Each public class, function, method and property has a docstring of its own.

    `Event` is a union, which can carry none; the text below it in `models` is its description.
    """
    bare = [path for path, thing in described(name) if not inspect.getdoc(thing)]
    assert bare == []


@pytest.mark.parametrize("name", [name for name in API if name != "Event"])
def test_docstrings_are_our_own(name: str) -> None:
    """No docstring is the one that a base class or a decorator left behind."""
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
    """docs/reference.md lists each public name."""
    page = (package.ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\.\. auto\w+:: sitemapreader\.(\w+)$", page, re.MULTILINE))
    assert listed == set(sitemapreader.__all__)
