"""Wrong arguments of a walk: refused at once, with what to write instead."""

from __future__ import annotations

import inspect
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import (
    Changes,
    FetchOptions,
    Follow,
    Limits,
    Sample,
    Search,
    discover_sync,
    distributed,
    read,
    walk as start_walk,
    walk_many,
    walk_many_sync,
    walk_sync,
)
from sitemapreader.changes import State
from sitemapreader.fetch import HttpFetcher, MemoryFetcher
from sitemapreader.tables import to_dataframe
from tests.support.walking import urlset

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader import SitemapEntry

SITE = "https://example.org/"
walk: Callable[..., Any] = start_walk
make_limits: Callable[..., Any] = Limits
many: Callable[..., Any] = walk_many
walks = pytest.mark.parametrize(
    "start", [walk, walk_sync, lambda site, **a: many([site], **a)]
)


async def choose(entry: SitemapEntry) -> bool:
    return bool(entry)


class Chooser:
    async def __call__(self, entry: SitemapEntry) -> bool:
        return bool(entry)


@walks
@pytest.mark.parametrize("follow", [choose, Chooser(), partial(choose), True])
def test_follow_is_no_coroutine(start: Callable[..., Any], follow: object) -> None:
    """A function with `await` would follow everything, because a coroutine is true."""
    with pytest.raises(TypeError, match="follow must be a function of a SitemapEntry"):
        start(SITE, follow=follow)


@walks
@pytest.mark.parametrize(
    "given",
    [
        {"limits": 3},
        {"options": "fast"},
        {"unique": "no"},
        {"search": "few"},
    ],
)
def test_values_of_another_type(
    start: Callable[..., Any], given: dict[str, object]
) -> None:
    """Settings that are none raise here, not in the walk; and "no" is not taken for True."""
    (name,) = given
    with pytest.raises(
        TypeError,
        match=f"{name} must be of type (bool|Limits|FetchOptions|Search), got",
    ):
        start(SITE, **given)


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (Search, "feeds", None),
        (Follow, "prune", "no"),
        (partial(Changes, "x.db"), "unlisted", 1),
        (FetchOptions, "respect_robots", 0),
    ],
)
def test_a_flag_is_a_bool(make: Callable[..., Any], name: str, value: object) -> None:
    """Option objects check their flags when they are made."""
    with pytest.raises(TypeError, match=f"{name} must be of type bool, got"):
        make(**{name: value})


async def test_limits_of_a_walk_beside_a_fetcher() -> None:
    """A fetcher that several walks share has its own options; each walk may have its limits."""
    fetcher = MemoryFetcher({f"{SITE}sitemap.xml": urlset(f"{SITE}1", f"{SITE}2")})
    async with walk(SITE, fetcher=fetcher, limits=Limits(max_urls=1)) as entries:
        assert len([entry async for entry in entries]) == 1


def test_on_site_is_no_coroutine() -> None:
    """Nor would anybody wait for a coroutine that hears of a site."""
    with pytest.raises(TypeError, match="on_site must be a function"):
        many([SITE], on_site=choose)


@walks
@pytest.mark.parametrize(
    ("argument", "instead"),
    [
        ("timeout", r"write options=FetchOptions\(total_seconds=...\)"),
        ("proxy", r"write options=FetchOptions\(proxy=...\)"),
        ("headers", r"write options=FetchOptions\(headers=...\)"),
        ("user_agent", r"write options=FetchOptions\(user_agent=...\)"),
        ("concurrency", r"write options=FetchOptions\(concurrency=...\)"),
        ("walk_seconds", r"write limits=Limits\(walk_seconds=...\)"),
        ("session", r"an object with `open`"),
        ("limit", r"limits=Limits\(max_urls=...\)"),
        ("removed", r"write state=Changes\(state, unlisted=True"),
        ("excludes", r"did you mean exclude\?"),
        ("qqq", "see its documentation"),
    ],
)
def test_an_argument_that_does_not_exist(
    start: Callable[..., Any], argument: str, instead: str
) -> None:
    """Arguments of other libraries are answered with where the same is set here."""
    with pytest.raises(TypeError, match=f"has no argument '{argument}'.*{instead}"):
        start(SITE, **{argument: 5})


FIELDS: list[tuple[Callable[..., Any], str, str]] = [
    # a habit that the class itself answers
    (
        FetchOptions,
        "timeout",
        "FetchOptions has no argument 'timeout': write total_seconds=...",
    ),
    (FetchOptions, "retries", "write max_attempts=..."),
    (FetchOptions, "cookies", "write headers={'Cookie': ...}"),
    (FetchOptions, "workers", "write concurrency=..."),
    (FetchOptions, "allow_private", "write allow_networks=('10.0.0.0/8',)"),
    (Limits, "max_documents", "write documents=..."),
    (Limits, "limit", "write max_urls=..."),
    (Limits, "deadline", "write max_time=timedelta(...)"),
    (Search, "rss", "write feeds=True"),
    (Follow, "same_domain", "write hosts='site'"),
    (partial(Sample, 5), "random_state", "write seed=..."),
    (
        partial(Changes, "a.db"),
        "removed",
        "write unlisted=True",
    ),
    # what takes a walk, or makes many of them
    (
        partial(to_dataframe, SITE),
        "timeout",
        "walk_sync(site, options=FetchOptions(total_seconds=...))",
    ),
    (
        partial(distributed.run, [SITE], "nowhere"),
        "timeout",
        "write options=ScaleOptions(fetch=FetchOptions(total_seconds=...))",
    ),
    (
        partial(distributed.begin_run, "nowhere"),
        "site_urls",
        "write options=ScaleOptions(site_urls=...)",
    ),
    (distributed.ScaleOptions, "retries", "write fetch=FetchOptions(max_attempts=...)"),
    (distributed.ScaleOptions, "max_urls", "write site_urls=..."),
    (
        partial(State, "a.db"),
        "timeout",
        "write walk(site, state=state, options=FetchOptions(total_seconds=...))",
    ),
    (partial(walk, SITE), "confirm_after", "write state=State(path, confirm_after=..."),
    # a typing error
    (Limits, "max_url", "write max_urls=..."),
    (Limits, "docments", "did you mean documents?"),
    (Follow, "prunes", "did you mean prune?"),
    # what another argument of the walk sets
    (
        Limits,
        "timeout",
        "in the call of walk, write options=FetchOptions(total_seconds=...)",
    ),
    (
        FetchOptions,
        "max_urls",
        "in the call of walk, write limits=Limits(max_urls=...)",
    ),
    (FetchOptions, "limits", "in the call of walk, write limits=..."),
    (Search, "include", "in the call of walk, write include=..."),
    (Follow, "url", "in the call of walk, write the site as the first argument"),
    (Limits, "verify", "there is none: certificates are always verified"),
    (Limits, "qqq", "Limits has no argument 'qqq': see its documentation"),
    (
        HttpFetcher,
        "user_agent",
        "HttpFetcher has no argument 'user_agent': write options=",
    ),
]


@pytest.mark.parametrize(("make", "argument", "instead"), FIELDS)
def test_an_option_that_does_not_exist(
    make: Callable[..., Any], argument: str, instead: str
) -> None:
    """Classes of options answer as walk does: with their own field, or where else it is set."""
    with pytest.raises(TypeError, match=re.escape(instead)):
        make(**{argument: 3})


@pytest.mark.parametrize(
    "kind", [Limits, FetchOptions, Search, Follow, Sample, Changes]
)
def test_a_class_of_options_shows_its_fields(kind: type) -> None:
    """The answer to wrong names hides no right one from `help`."""
    shown = inspect.signature(kind).parameters
    assert [*shown] == [field.name for field in attrs.fields(kind)]


def test_the_arguments_that_belong_to_a_walk() -> None:
    """The advice names each keyword argument of `walk`, and no other one."""
    for name, parameter in inspect.signature(walk).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            with pytest.raises(TypeError, match=f"in the call of walk, write .*{name}"):
                make_limits(**{name: 3})


VALUES: list[tuple[Callable[..., Any], str, object, str]] = [
    (FetchOptions, "headers", ["a"], "must be a dict of texts: write headers={'"),
    (FetchOptions, "headers", {"A": 5}, "must be a dict of texts: write headers={'"),
    (FetchOptions, "user_agent", 5, "must be a line of text, got 5"),
    (FetchOptions, "allow_ports", 18080, "got 18080: write allow_ports=(8080,)"),
    (FetchOptions, "allow_ports", ("80",), "must be a tuple of int"),
    (
        FetchOptions,
        "allow_networks",
        "10.0.0.0/8",
        "write allow_networks=('10.0.0.0/8',)",
    ),
    (
        FetchOptions,
        "delay_seconds",
        "1",
        "must be a finite number of seconds such as 1.5",
    ),
    (
        partial(walk, SITE),
        "limits",
        {"max_urls": 3},
        "write limits=Limits(max_urls=1_000)",
    ),
    (
        partial(State, "a.db"),
        "confirm_after",
        0,
        "must be a timedelta from 0 to 36525 days, got 0: write confirm_after=timedelta(",
    ),
    (
        distributed.ScaleOptions,
        "hosts_at_once",
        "4",
        "must be a whole number from 1 to 1024, got '4': write hosts_at_once=64",
    ),
    (distributed.ScaleOptions, "fetch", {}, "write fetch=FetchOptions(...)"),
    (distributed.ScaleOptions, "limits", 3, "write limits=Limits(...)"),
    (partial(walk, SITE), "options", {}, "write options=FetchOptions(...)"),
    (partial(walk, SITE), "fetcher", len, "FunctionFetcher(function)"),
    (partial(walk, SITE), "at_once", 4, "write limits=Limits(sites_at_once=...)"),
    (walk, "site", [SITE, SITE], "must be one URL, got list: write walk_many(sites)"),
    (
        partial(to_dataframe, SITE),
        "columns",
        ["loc"],
        "choose frame[['loc', 'lastmod']]",
    ),
]


@pytest.mark.parametrize(("make", "name", "value", "said"), VALUES)
def test_a_value_of_another_type_is_answered_with_an_example(
    make: Callable[..., Any], name: str, value: object, said: str
) -> None:
    """No operator or attribute of Python is named, but what to write."""
    with pytest.raises(TypeError, match=re.escape(said)):
        make(**{name: value})


async def test_a_run_says_how_to_loop_over_it() -> None:
    """Its entries come with their sites, so that it is no iterable of entries."""
    with pytest.raises(TypeError, match=r"for site, entries in run\.batches\(\)"):
        async for _ in walk_many([SITE]):
            pass
    with pytest.raises(TypeError, match=r": for site, entries in run\.batches\(\)"):
        iter(walk_many_sync([SITE]))


@pytest.mark.parametrize("source", [None, 5, Path("sitemap.xml")])
def test_what_is_no_source_of_read(source: Any) -> None:
    """A path is no document, and is opened by the caller."""
    with pytest.raises(TypeError, match=r"write read\(open\(path, 'rb'\)\)"):
        read(source)


@pytest.mark.parametrize("value", [-1, float("inf"), float("nan")])
def test_a_delay_is_finite(value: float) -> None:
    """Nobody can wait such a time."""
    with pytest.raises(ValueError, match="`delay_seconds` must be a finite number"):
        FetchOptions(delay_seconds=value)


@walks
@pytest.mark.parametrize("code", ["english", "deutsch", "e", "en,english"])
def test_a_language_is_a_code(start: Callable[..., Any], code: str) -> None:
    """The name of a language would leave out every entry."""
    with pytest.raises(ValueError, match="must have codes such as en or pt-BR, got"):
        start(SITE, language=code)


class Session:
    """A client with methods of its own."""

    def get(self, url: str) -> None: ...


@pytest.mark.parametrize(
    "start", [walk, walk_sync, discover_sync, lambda s, **a: many([s], **a)]
)
@pytest.mark.parametrize(
    "fetcher", [Session(), HttpFetcher, MemoryFetcher, {}, "https"]
)
def test_what_is_no_fetcher(start: Callable[..., Any], fetcher: object) -> None:
    """A client of another library, or a class, is refused with how to make a fetcher of it."""
    with pytest.raises(
        TypeError, match="fetcher must be an object with the method `open`"
    ):
        start(SITE, fetcher=fetcher)


@pytest.mark.parametrize(
    "start", [walk, walk_sync, discover_sync, lambda s, **a: many([s], **a)]
)
@pytest.mark.parametrize("given", [{"options": FetchOptions()}])
def test_settings_are_given_once(
    start: Callable[..., Any], given: dict[str, object]
) -> None:
    """A fetcher with options is used with these, so others beside it are refused."""
    (name,) = given
    with pytest.raises(TypeError, match=rf"fetcher=HttpFetcher\({name}=...\)"):
        start(SITE, fetcher=HttpFetcher(), **given)


class Pooled(MemoryFetcher):
    """A fetcher whose `limits` are another library's."""

    limits = 10
    options = FetchOptions()


async def test_attributes_of_another_kind_are_no_settings() -> None:
    """A fetcher of one's own may call something else `limits`: then those of the walk count."""
    async with walk(
        SITE, fetcher=Pooled({}), limits=Limits(walk_seconds=1e-9)
    ) as entries:
        assert [entry async for entry in entries] == []
    assert "budget-seconds" in entries.report.counts


async def test_a_walk_has_the_limits_of_its_fetcher() -> None:
    """What is read is bounded by the limits that the fetcher was made with."""
    async with (
        HttpFetcher(limits=Limits(walk_seconds=1e-9)) as fetcher,
        walk("http://localhost:9/", fetcher=fetcher) as entries,
    ):
        assert [entry async for entry in entries] == []
    assert "budget-seconds" in entries.report.counts


@walks
@pytest.mark.parametrize("name", ["include", "exclude"])
@pytest.mark.parametrize("value", [str.isupper, [str.isupper], 5, [None]])
def test_patterns_are_no_functions(
    start: Callable[..., Any], name: str, value: object
) -> None:
    """Where a regular expression is wanted the message shows one."""
    with pytest.raises(
        TypeError, match=r"must be regular expressions for text.*include=r'/blog/'"
    ):
        start(SITE, **{name: value})


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Limits, "documents"), (Limits, "depth"), (FetchOptions, "concurrency")],
)
@pytest.mark.parametrize("value", [None, 0.5, 2.0, "3"])
def test_counts_are_whole(kind: Callable[..., Any], name: str, value: object) -> None:
    """Half a request at once would wait for ever, and `None` is no limit."""
    with pytest.raises(
        TypeError, match=f"`{name}` must be a whole number above zero, got"
    ):
        kind(**{name: value})
