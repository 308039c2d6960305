"""The arguments of `discover`, and checks of them that say what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from sitemapreader.urls import has_web_scheme, parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import attrs

    from sitemapreader.fetch import Fetcher
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.readers.records.vocabulary import ExtraFormats


Probe: TypeAlias = Literal["auto", "few", "always", "deep", "never"]
"""When well-known paths are tried: if nothing else answers ("auto"), the same with two paths
("few"), "always", always with those of the site's platform ("deep"), or "never"."""


class DiscoverArguments(TypedDict, total=False):
    """The keyword arguments of `discover`, for `discover_sync`.

    A test compares names and types with the signature of `discover`, which explains them.
    """

    fetcher: Fetcher | None
    options: FetchOptions
    limits: Limits
    probe: Probe
    extra_paths: Iterable[str]
    feeds: bool
    respect_robots: bool
    extra_formats: ExtraFormats
    trusted: bool


def check_url(name: str, value: str) -> str:
    """Return an absolute http(s) URL; raise TypeError or ValueError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be given as text, not as {type(value).__name__}")
    if not has_web_scheme(value) or parse_url(value) is None:
        raise ValueError(f"{name} must be a full URL like 'https://example.org/', not {value!r}")
    return value


def check_fetcher(value: object) -> None:
    """Raise TypeError for what is no fetcher, such as an HTTP client."""
    is_class = isinstance(value, type)
    if value is not None and (is_class or not callable(getattr(value, "open", None))):
        kind = value if is_class else type(value)
        raise TypeError(
            f"fetcher must be an object with the method `open` of `Fetcher`, not {kind}: write "
            "fetcher=HttpFetcher(options), or HttpxFetcher(client) for a client of httpx"
        )


def one_of(choices: Any) -> Callable[[object, attrs.Attribute[str], str], None]:
    """Make an attrs validator for an argument that is one of the words of a Literal."""
    words = get_args(choices)

    def check(_: object, field: attrs.Attribute[str], value: str) -> None:
        if value not in words:
            raise ValueError(f"{field.name} must be one of {', '.join(words)}, not {value!r}")

    return check


def check_paths(values: Iterable[str]) -> tuple[str, ...]:
    """Return paths without their first slash; raise TypeError or ValueError for URLs."""
    if isinstance(values, str):
        raise TypeError(f"extra_paths must be several: write ({values!r},), not {values!r}")
    paths = tuple(values)
    for path in paths:
        if has_web_scheme(path) or not path.strip("/"):
            raise ValueError(
                f"extra_paths must be paths such as '/maps/all.xml', not {path!r}: "
                "give URLs with sitemaps="
            )
    return tuple(path.lstrip("/") for path in paths)
