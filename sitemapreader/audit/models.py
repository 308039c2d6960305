"""The figures of an audit, the words of its rules, and the confidence in a sample."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from math import ceil, floor, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs

from sitemapreader._types.dates import as_since
from sitemapreader._types.issues import Severity
from sitemapreader._types.urls import url_key
from sitemapreader.audit.values import SCHEMA, Rate, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sitemapreader._types.arguments import FilePath

T = TypeVar("T")


class AuditInputError(ValueError):
    """A wrong or unreadable input of an audit; the message names the remedy."""


_FILES = {"findings": "the JSON report of an audit", "hits": "a baseline"}
"""Key of a file that this package writes -> the noun of that file."""


def read_json(
    path: FilePath,
    key: str,
    advice: str,
    parse: Callable[[Any], T],
    schema: int = SCHEMA,
) -> T:
    """Parse a file of ours with `parse`; raise AuditInputError for other files.

    `key` tells the kinds of files apart, and `advice` says how to write the wanted one.
    """
    wanted = _FILES[key]
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        json.dumps(
            content, ensure_ascii=False
        ).encode()  # no lone surrogates, as DuckDB has none
        (found,) = (noun for each, noun in _FILES.items() if each in content)
        if found == wanted and content["schema"] == schema:
            return parse(content)
    except OSError as error:
        raise AuditInputError(f"{path} cannot be read: {error.strerror}") from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ):
        raise AuditInputError(
            f"{path} {_describe_other_file(Path(path), wanted)}: {advice}"
        ) from None
    if found != wanted:
        raise AuditInputError(f"{path} must be {wanted}, got {found}: {advice}")
    raise AuditInputError(f"{path} was written by another version: {advice}")


def _describe_other_file(path: Path, wanted: str) -> str:
    """Name the kind of a file that is not the wanted one."""
    if path.suffix.lower() == ".xlsx":
        return f"is a workbook, which is not read back, and not {wanted}"
    if is_read_once(path):
        return f"gave something else than {wanted}, which alone is read from a pipe"
    return f"is not {wanted}"


LIST_SUFFIXES = (
    ".txt",
    ".urls",
    ".log",
    ".list",
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".parquet",
)
"""Suffixes of a list of URLs, all but the last also with .gz after them."""
_XML_SUFFIXES = (".xml", ".rss", ".atom")


def check_file(path: Path, what: str = "") -> None:
    """Raise AuditInputError if a path has no file.

    The message begins with `what`.
    """
    if not path.exists():
        raise AuditInputError(f"{what}there is no file {path}")
    if path.is_dir():
        raise AuditInputError(f"{what}{path} is a folder: name a file in it")
    if is_read_once(path):
        raise AuditInputError(
            f"{what}{path} is a pipe, and is to be read twice: write it into a file"
        )


def is_read_once(path: Path) -> bool:
    """Return whether a path can be read only once, and is neither file nor folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


def is_array(path: Path) -> bool:
    """Return whether a file is an array in JSON."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(_BYTES_TO_DETECT).lstrip().startswith(b"[")


def is_url_list(path: FilePath) -> bool:
    """Return whether a file is a list of URLs or a sitemap, by its suffix, and not an audit."""
    suffix = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    return suffix in (*LIST_SUFFIXES, *_XML_SUFFIXES) or is_array(Path(path))


_BYTES_TO_DETECT = 1_000
_URL_IN_TEXT = re.compile(r"[^\s(),;]+(?:[(),;]+[^\s(),;]+)*")
"""A URL in a text, without the brackets and commas around it."""


def move_urls(text: str, moves: Mapping[str, str]) -> str:
    """Replace the URLs of a text that have moved: key of the old URL -> new URL."""
    if not moves:
        return text
    return _URL_IN_TEXT.sub(lambda word: moves.get(url_key(word[0]), word[0]), text)


class Category(StrEnum):
    """The categories of rules, in the order in which they are shown."""

    READING = "Reading"
    DISCOVERY = "Discovery"
    INDEX = "Index"
    RESPONSE = "Response"
    FRESHNESS = "Freshness"
    DUPLICATES = "Duplicates"
    HOSTS = "Hosts"
    ROBOTS = "Robots"
    HREFLANG = "hreflang"
    MEDIA = "Media"
    URLS = "URLs"
    PAGES = "Pages"
    COMPARISON = "Comparison"
    CUSTOM = "Custom"
    """Rules of the user's own, of `--rules`."""


class Need(StrEnum):
    """A need of a rule besides the sitemaps: its word in a header, and its meaning."""

    meaning: str

    def __new__(cls, word: str, meaning: str) -> Self:
        """Make the word the value: it compares, sorts and prints as a plain string."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member

    ROBOTS = "robots", "a readable robots.txt"
    URL_ROBOTS = "url-robots", "a readable robots.txt of a host of URLs"
    IMAGE_ROBOTS = "image-robots", "a readable robots.txt of a host of images"
    # the Sitemap lines of its robots.txt are followed
    SITE = (
        "site",
        "the URL of a site",
    )
    FETCH = "fetch", "responses of a server"  # a folder has none
    COMPLETE = "complete", "a complete walk"
    KNOWN = "urls", "`--urls`"
    PAGES = "pages", "`--pages`"  # half of those that were visited could be judged
    VISITS = "visits", "visits of pages"  # a crawl of somebody else says less
    PROBES = "probes", "folders where a made-up path has another response than a page"
    HREFLANG = "hreflang", "links to other languages, in sitemaps or on visited pages"
    WAS = "was", "`--was`"  # the same of the old URLs
    FOLDER = "folder", "a built folder"  # all of its pages were looked up
    BASE = "base", "a built folder, or a site on a mapped host"
    OVERLAP = "overlap", "a list with most of the URLs"


def make_rule(
    code: str,
    category: Category,
    severity: str,
    title: str,
    unit: str = "URLs",
    **texts: Any,
) -> Rule:
    """Return a rule from the texts of its header."""
    return Rule(
        code=code,
        category=str(category),
        severity=severity,
        title=title,
        unit=unit,
        detects=texts.get("detects", ""),
        meaning=texts.get("meaning", ""),
        advice=texts.get("advice", ""),
        sources=split_words(texts.get("source", "")),
        needs=split_words(texts.get("needs", "")),
        known_as=texts.get("search-console", ""),
        causes=split_words(texts.get("cause", "")),
    )


def split_words(text: str) -> list[str]:
    """Return the parts of a text between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


SEVERITIES = tuple(each.name.lower() for each in sorted(Severity, reverse=True))
"""Words of severities, the gravest first."""
FOREMOST = ("base-url-elsewhere", "robots-blocks-site")
"""Findings beside which the others of their severity hardly matter."""
LEAST_SHARE = 0.1
"""A folder with files for fewer of the URLs in its sitemaps is no built site."""
MAX_PLACES = 5_000
"""Sitemaps that a finding names; the rest is in the database."""
MAX_HITS = 5_000
"""Hits that a finding about pages names, and any finding of a small site."""
PAGE_UNITS = frozenset({"pages", "unlisted pages", "old URLs"})
"""Units of rules that judge pages one by one: each hit is a fault of its own."""
LINK_UNITS = frozenset({"links", "images", "videos"})
"""Units of rules that may hit a page several times: their details tell the hits apart."""
TALLIES = ("pages", "old URLs")
"""Units of rules about visited pages: facts have a tally of each."""


# -- how sure a rate is that a sample of pages shows

_Z = 1.96
"""Quantile of the standard normal distribution: 95 % lie within."""
_Z2 = _Z * _Z
# Wilson's lower limit is too high for one to three hits: the limits of Poisson's distribution there
# (Brown, Cai, DasGupta 2001, Interval Estimation for a Binomial Proportion, section 4.1.1).
_LOWEST = {1: 0.0513, 2: 0.3554, 3: 0.8177}


def estimate_rate(strata: Iterable[tuple[int, int, int]]) -> Rate | None:
    """Return the rate of all pages from samples of the parts of a site.

    Of each part these are its size, the pages judged, and the hits. `None` if no page was judged.
    Each part counts by its size. The interval is Wilson's, where the pages that were judged count
    as more the closer they come to all, in whole pages. It holds the truth in 95 % of samples on
    average; of 100 pages in 92.5 % at least, however the hits lie, and of three in 83 %.
    """
    seen = [each for each in strata if each[1]]
    total, judged, hits = (sum(each[place] for each in seen) for place in range(3))
    if not judged:
        return None
    share = sum(size * hit / number for size, number, hit in seen) / total
    low = high = share
    if judged < total:
        size = judged * (total - 1) / (total - judged)
        middle = (share + _Z2 / (2 * size)) / (1 + _Z2 / size)
        half = (
            _Z
            / (1 + _Z2 / size)
            * sqrt(share * (1 - share) / size + _Z2 / (4 * size * size))
        )
        low = min(middle - half, _LOWEST.get(hits, size) / size)
        high = middle + half
        # So many pages as there are, and as there may be with those that nobody judged.
        low = max(hits, floor(low * total)) / total
        high = min(hits + total - judged, ceil(high * total)) / total
    return Rate(share=share, low=low, high=high, judged=judged, population=total)


# -- figures

_MOST = 2**31
"""Largest integer of a query."""


def _check_number(
    _: object,
    field: attrs.Attribute[float],
    value: float,
) -> None:
    if not 0 <= value < _MOST:
        raise ValueError(
            f"{field.name} must be a number from 0 to {_MOST - 1}, got {value!r}"
        )


def _make_number_check(default: float) -> Any:
    return attrs.field(default=default, validator=_check_number)


def _words(*default: str) -> Any:
    return attrs.field(default=default, converter=_to_tuple)


def _to_tuple(words: Iterable[str]) -> tuple[str, ...]:
    if isinstance(words, str):
        raise TypeError(f"write several words as a list: [{words!r}]")
    words = tuple(words)
    if not all(isinstance(word, str) for word in words):
        raise TypeError(f"write a list of words, not {words!r}")
    return words


@attrs.frozen(kw_only=True)
class RuleSettings:
    """Rules of your own, and other severities: the argument `rules` of an audit.

    Attributes:
        folder: folder with rules of your own, files of SQL. `rules=folder` is short for
            `rules=RuleSettings(folder=folder)`.
        severities: code of a rule -> another severity.
    """

    folder: FilePath | None = None
    severities: Mapping[str, Severity] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class AuditOptions:
    """The figures of the rules.

    A rule names a figure as `$name` in its query, and the texts of rules name it in backticks.
    """

    now: datetime | None = attrs.field(
        default=None, converter=attrs.converters.optional(as_since)
    )
    """The time by which dates are judged, instead of that on the clock."""
    examples: int = _make_number_check(20)
    """Hits that a finding shows."""
    robots: tuple[str, ...] = _words("Googlebot")
    """Robots whose rules in robots.txt are judged."""
    # dates
    least_dated: int = _make_number_check(20)
    """Fewer URLs, or dated URLs, are too few to judge the dates of a sitemap."""
    equal_share: float = _make_number_check(0.9)
    """More than this share of equal dates is not an accident."""
    build_share: float = _make_number_check(0.5)
    build_minutes: int = _make_number_check(15)
    future_hours: int = _make_number_check(24)
    zone_hours: int = _make_number_check(14)
    """The farthest time zone; a day alone may be meant in any."""
    dated_share: float = _make_number_check(0.95)
    stale_years: int = _make_number_check(3)
    stale_share: float = _make_number_check(0.5)
    news_hours: int = _make_number_check(48)
    # indexes and answers
    least_children: int = _make_number_check(10)
    tiny_children: int = _make_number_check(20)
    tiny_urls: int = _make_number_check(100)
    large_bytes: int = _make_number_check(1_048_576)
    slow_first_byte_seconds: float = _make_number_check(3)
    slow_seconds: float = _make_number_check(20)
    near_urls: int = _make_number_check(45_000)
    near_bytes: int = _make_number_check(47_185_920)
    # pages
    page_seconds: float = _make_number_check(900)
    """Time for all visits; pages beyond it are not judged."""
    page_seed: int = _make_number_check(0)
    page_probes: int = _make_number_check(10)
    """Number of folders in which a made-up path is requested."""
    page_targets: int = _make_number_check(100)
    """Number of pages that are requested because visited pages name them as canonical or version,
    and no sitemap lists them. There are never more than visited pages."""
    slow_page_seconds: float = _make_number_check(3)
    # URLs
    many_parameters: int = _make_number_check(4)
    tracking_parameters: tuple[str, ...] = _words(
        *(
            "utm_*",
            "gclid",
            "gclsrc",
            "dclid",
            "gbraid",
            "wbraid",
            "fbclid",
            "msclkid",
            "yclid",
        ),
        *(
            "igshid",
            "mc_cid",
            "mc_eid",
            "_ga",
            "_gl",
            "_hsenc",
            "_hsmi",
            "ttclid",
            "twclid",
        ),
        *(
            "li_fat_id",
            "srsltid",
            "mkt_tok",
            "vero_id",
            "oly_enc_id",
            "wickedid",
            "pk_campaign",
        ),
    )
    """Parameters that say where a visitor comes from; `*` stands for any characters."""
    session_parameters: tuple[str, ...] = _words(
        *(
            "sid",
            "sessionid",
            "session_id",
            "phpsessid",
            "jsessionid",
            "aspsessionid*",
            "cfid",
        ),
        *("cftoken", "osCsid", "zenid", "sessid", "PHPSESSIONID"),
    )
    search_parameters: tuple[str, ...] = _words(
        *("q", "s", "search", "sort", "order", "filter", "page")
    )
    asset_suffixes: tuple[str, ...] = _words(
        *(
            "css",
            "js",
            "json",
            "xml",
            "jpg",
            "jpeg",
            "png",
            "svg",
            "gif",
            "webp",
            "avif",
            "ico",
        ),
        *("woff", "woff2", "map"),
    )
    # comparison
    least_overlap: float = _make_number_check(0.5)
    """A list that knows a smaller share of the URLs is too small to call the others orphans."""

    def make_parameters(self, now: datetime) -> dict[str, object]:
        """Return the values of the parameters of queries.

        Args:
            now: when the audit began; `self.now` goes before it.
        """
        figures = {
            field.name: getattr(self, field.name)
            for field in attrs.fields(AuditOptions)
            if isinstance(field.default, int | float)
        }
        return figures | {
            "now": (self.now or now).astimezone(UTC).replace(tzinfo=None),
            "tracking": _match_parameters(self.tracking_parameters),
            "session": _match_parameters(self.session_parameters),
            "searching": _match_parameters(self.search_parameters),
            "assets": rf"(?i)\.({'|'.join(map(re.escape, self.asset_suffixes))})$",
        }


def _match_parameters(names: Iterable[str]) -> str:
    """Return a regular expression; its second group is the parameter."""
    words = "|".join(re.escape(name).replace(r"\*", "[^=&;]*") for name in names)
    return rf"(?i)(^|[&;?])(({words})=[^&;]*)"
