"""Groups of the arguments of a walk: values that cannot contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import attrs

from sitemapreader._types.fields import answer_fields, check_flag, one_of
from sitemapreader._types.models import Format, SitemapEntry
from sitemapreader._types.options import (
    check_count,
    check_formats,
    check_function,
    whole_number,
)
from sitemapreader._types.urls import HostScope, has_web_scheme

if TYPE_CHECKING:
    import os
    from pathlib import Path

Probe: TypeAlias = Literal["auto", "few", "always", "never"]
"""When well-known paths are tried."""
Order: TypeAlias = Literal["document", "newest"]
"""As sitemaps are listed; or the newest first, by the lastmod in their index."""
TakeChild: TypeAlias = Callable[[SitemapEntry], bool]
"""Called with every child before it is fetched; returns whether to fetch it."""


class KnownState(Protocol):
    """A `State`, as far as the arguments of a walk have to know one."""

    path: Path
    clock: Callable[[], float]


def _paths(values: Iterable[str]) -> tuple[str, ...]:
    """Return paths without their first slash; raise TypeError or ValueError for URLs."""
    if isinstance(values, str):
        raise TypeError(
            f"extra_paths must be a tuple: write ({values!r},), not {values!r}"
        )
    paths = tuple(values)
    for path in paths:
        if has_web_scheme(path) or not path.strip("/"):
            raise ValueError(
                f"extra_paths must be paths such as '/maps/all.xml', got {path!r}: "
                "pass URLs with sitemaps="
            )
    return tuple(path.lstrip("/") for path in paths)


@answer_fields("search=Search({}=...)")
@attrs.frozen(kw_only=True)
class Search:
    """The search for the sitemaps of a site: the argument `search`.

    Attributes:
        probe: when to try the well-known paths: "auto", if no sitemap that the site names responds;
            "few", then only `/sitemap.xml` and `/sitemap_index.xml`, for long lists of sites that
            often have no sitemap; "always"; or "never".
        extra_paths: paths to try before the well-known ones.
        feeds: also accept the feeds that the start page links to.
        extra_formats: formats to read besides sitemaps and feeds: "html", pages that you or the
            site name as sitemaps. Their links to the same site are the entries, with an Issue.
    """

    probe: Probe = attrs.field(default="auto", validator=one_of(Probe))
    extra_paths: tuple[str, ...] = attrs.field(default=(), converter=_paths)
    feeds: bool = attrs.field(default=False, validator=check_flag)
    extra_formats: frozenset[Format] = attrs.field(default=(), converter=check_formats)

    @extra_paths.validator
    def _check_probe(self, _: object, value: tuple[str, ...]) -> None:
        if value and self.probe == "never":
            raise ValueError("extra_paths cannot be combined with probe='never'")


@answer_fields("follow=Follow({}=...)")
@attrs.frozen
class Follow:
    """The choice of the sitemaps below an index: the argument `follow`.

    Attributes:
        only: function that gets every child in an index, and returns whether to fetch it. If all
            entries of a urlset look like sitemaps, it gets these, too: the ones that it takes are
            read, and the others are pages. Without a function, all are pages. `follow=function` is
            short for `follow=Follow(function)`.
        hosts: hosts whose children are fetched: the same "host" as the parent's, the same "site"
            (registrable domain; the default), or "any". A child on another host needs a robots.txt
            there that lists it.
        prune: with `since`, do not fetch children that their index dates before it.
        order: order of the waiting sitemaps: as listed ("document"), or the "newest" first, by the
            lastmod in their index. Then undated children come last, the last of them first, and the
            children of an index wait until it is read to its end, because the newest may be the
            last.
    """

    only: TakeChild | None = attrs.field(
        default=None,
        validator=lambda _, __, value: check_function(
            "follow", value, "a SitemapEntry that returns a bool"
        ),
    )
    hosts: HostScope = attrs.field(
        default="site", validator=one_of(HostScope), kw_only=True
    )
    prune: bool = attrs.field(default=True, validator=check_flag, kw_only=True)
    order: Order = attrs.field(
        default="document", validator=one_of(Order), kw_only=True
    )


@answer_fields("sample=Sample(number, {}=...)")
@attrs.frozen
class Sample:
    """A uniform random sample of URLs, without duplicates: the argument `sample`.

    The sample is delivered when all sitemaps are read. `Report.sampled_from` is the number of all
    URLs. `sample=100` is short for `sample=Sample(100)`.

    Attributes:
        number: number of URLs.
        seed: number that selects the sample; the same seed draws the same sample, in whatever order
            the sitemaps arrive.
    """

    number: int = attrs.field(
        validator=lambda _, __, value: check_count("sample", value)
    )
    seed: int = attrs.field(default=0, validator=attrs.validators.instance_of(int))


@answer_fields("state=Changes(state, {}=...)")
@attrs.frozen(eq=False)
class Changes:
    """A state by which only differences are delivered: `state=Changes("all.db")`.

    A walk with it delivers the entries that are new or differ from the previous walk, with `change`
    set. `Walk.unlisted` yields the URLs that no document lists any more, and `Walk.gone` the ones
    that are missing from their document, and whose page responds with 404 or 410.

    Attributes:
        state: a file, or a `State`, that remembers the walk.
        unlisted: deliver at the end also the URLs that became unlisted, with `change` set to
            "unlisted". They are not in `report.entries`.
        gone: number of missing URLs whose page is requested at the end. Gone pages are delivered
            as well, with `change` set to "gone".
        revisit: number of documents to request: the ones in which most news is expected to have
            waited longest. The others are "not-due". A site that the state does not know is walked
            in full, and new sitemaps are read in addition. `None` requests all.
    """

    state: str | Path | KnownState
    unlisted: bool = attrs.field(default=False, validator=check_flag, kw_only=True)
    gone: int = attrs.field(default=0, validator=whole_number(0), kw_only=True)
    revisit: int | None = attrs.field(
        default=None, validator=whole_number(), kw_only=True
    )


FilePath: TypeAlias = "str | os.PathLike[str]"
"""Path of a file or folder."""
Memory: TypeAlias = "str | Path | KnownState | Changes | None"
"""The argument `state`: a file, or a `State`; or `Changes`, which deliver only differences."""
