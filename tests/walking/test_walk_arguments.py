"""The arguments of `walk` and of its relatives: one list, shown in full, and short to read."""

from __future__ import annotations

import inspect
import pydoc
import re
from typing import TYPE_CHECKING, Any

import pytest

import sitemapreader
from sitemapreader import (
    FetchOptions,
    discover,
    discover_sync,
    newest,
    newest_sync,
    walk,
    walk_many,
    walk_sync,
    watch,
)
from sitemapreader.audit import audit, audit_sync
from sitemapreader.fetch import HttpFetcher
from sitemapreader.presence import why_sync
from sitemapreader.tables import read_batches, to_dataframe

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("blocking", "function"), [(discover_sync, discover), (newest_sync, newest)]
)
def test_what_blocks_has_the_same_signature(
    blocking: Callable[..., Any], function: Callable[..., Any]
) -> None:
    """`discover_sync` takes what `discover` takes, with a name and words of its own."""
    assert inspect.signature(blocking) == inspect.signature(function)
    assert blocking.__name__ == f"{function.__name__}_sync"
    assert f"Run `{function.__name__}` without" in (blocking.__doc__ or "")


PUBLIC_FUNCTIONS = [
    each
    for each in map(sitemapreader.__getattribute__, sitemapreader.__all__)
    if inspect.isfunction(each)
]
"""The functions at the top."""


@pytest.mark.parametrize("function", [*PUBLIC_FUNCTIONS, audit])
def test_an_argument_has_the_same_default_everywhere(
    function: Callable[..., Any],
) -> None:
    """That of `walk`; only what reads a list of sites trusts none of them by itself."""
    usual = inspect.signature(walk).parameters
    own = inspect.signature(function).parameters
    for name, parameter in own.items():
        default = getattr(usual.get(name), "default", None)
        if isinstance(default, bool) and parameter.default is not parameter.empty:
            trusts = name != "trusted" or "sites" not in own
            assert parameter.default is (default and trusts), name


@pytest.mark.parametrize("function", [*PUBLIC_FUNCTIONS, audit])
def test_signatures_are_explicit_and_short(function: Callable[..., Any]) -> None:
    """An editor shows each argument, of 20 at most, and the documentation has a line on it."""
    parameters = inspect.signature(function).parameters
    kinds = {each.kind for each in parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert len(parameters) <= 20


@pytest.mark.parametrize(
    "function",
    [walk, walk_many, watch, discover, newest, audit],
    ids=lambda f: f.__name__,
)
def test_each_argument_is_described(function: Callable[..., Any]) -> None:
    """The docstring has each argument, in the order of the signature."""
    described = inspect.getdoc(function) or ""
    names = re.findall(r"^    (\w+): ", described.partition("Args:")[2], re.MULTILINE)
    assert names[: len(inspect.signature(function).parameters)] == [
        *inspect.signature(function).parameters
    ]


def test_the_help_of_walk_fits_on_a_screen() -> None:
    """Forty lines are what a terminal shows."""
    assert len(pydoc.plain(pydoc.render_doc(walk)).splitlines()) <= 40


OLD: list[tuple[Callable[..., Any], str, str]] = [
    (walk, "probe", "search=Search(probe=...)"),
    (walk, "feeds", "search=Search(feeds=...)"),
    (walk, "extra_paths", "search=Search(extra_paths=...)"),
    (walk, "extra_formats", "search=Search(extra_formats=...)"),
    (walk, "hosts", "follow=Follow(hosts=...)"),
    (walk, "prune", "follow=Follow(prune=...)"),
    (walk, "order", "follow=Follow(order=...)"),
    (walk, "seed", "sample=Sample(number, seed=...)"),
    (walk, "changes", "state=Changes(state)"),
    (walk, "unlisted", "state=Changes(state, unlisted=...)"),
    (walk, "gone", "state=Changes(state, gone=...)"),
    (walk, "revisit", "state=Changes(state, revisit=...)"),
    (walk, "max_urls", "limits=Limits(max_urls=...)"),
    (walk, "max_time", "limits=Limits(max_time=...)"),
    (walk, "respect_robots", "options=FetchOptions(respect_robots=...)"),
    (walk, "map_hosts", "options=FetchOptions(map_hosts=...)"),
    (walk_sync, "probe", "search=Search(probe=...)"),
    (walk_many, "site_seconds", "limits=Limits(site_seconds=...)"),
    (walk_many, "at_once", "limits=Limits(sites_at_once=...)"),
    (walk_many, "revisit", "state=Changes(state, revisit=...)"),
    (watch, "initial", 'kinds=("new", "gone", "initial")'),
    (watch, "gone", "kinds=..., of the changes"),
    (watch, "revisit", "pace=..., the requests an hour"),
    (discover_sync, "probe", "search=Search(probe=...)"),
    (audit_sync, "severities", "rules=RuleSettings(severities=...)"),
    (audit_sync, "is_sitemap", 'the source as SiteTask(url, "sitemap"), or "site"'),
    (newest_sync, "hosts", "follow=Follow(hosts=...)"),
    (why_sync, "respect_robots", "options=FetchOptions(respect_robots=...)"),
    (
        to_dataframe,
        "since",
        (
            "the walk as the source: walk_sync(site, since=...); "
            "for several sites [walk_sync(site, since=...) for site in sites]"
        ),
    ),
    (
        read_batches,
        "changes",
        (
            "the walk as the source: walk_sync(site, state=Changes(state)); "
            "for several sites [walk_sync(site, state=Changes(state)) for site in sites]"
        ),
    ),
]


@pytest.mark.parametrize(("function", "name", "instead"), OLD)
def test_arguments_of_0_3_answer_with_what_to_write(
    function: Callable[..., Any], name: str, instead: str
) -> None:
    """A program of 0.3 learns from the message how its argument is written now."""
    said = f"{function.__name__.removesuffix('_sync')} has no argument {name!r}: write {instead}"
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        function("https://example.org/", **{name: 1})


@pytest.mark.parametrize("thing", [walk, walk_sync, discover, HttpFetcher.__init__])
def test_help_begins_with_a_readable_signature(thing: Callable[..., Any]) -> None:
    """No default is written out field by field: the options are named, their values are not."""
    signature = str(inspect.signature(thing))
    assert "raw_bytes" not in signature
    assert "user_agent" not in signature
    assert len(signature) < 1_100
    shown = pydoc.plain(pydoc.render_doc(thing))
    # Python 3.13 writes a long signature over several lines, with a comma behind the last argument.
    assert _squeeze(signature) in _squeeze(shown)


def _squeeze(text: str) -> str:
    return "".join(text.split()).replace(",)", ")")


def test_options_show_no_password() -> None:
    """Values of headers and the login at a proxy stay out of tracebacks and notebooks."""
    options = FetchOptions(
        headers={"Authorization": "Bearer hunter2"},
        proxy="http://me:hunter2@proxy.example:3128",
    )
    assert "hunter2" not in repr(options)
    assert "Authorization" in repr(options)
    assert "proxy.example:3128" in repr(options)
