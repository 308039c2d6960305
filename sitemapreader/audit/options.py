"""The options of an audit: the figures in rules, and the kinds of URL parameters."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.figures import count_units, show_number
from sitemapreader.dates import as_since
from sitemapreader.options import MIB
from sitemapreader.outcomes import show_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable


_FIGURE = re.compile(r"`([a-z_]+)`")
_UNITS = ("seconds", "minutes", "hours", "years")
_MOST_WORDS = 7
"""Words of a figure that a text names; the rest is counted."""
_MOST = 2**31
"""What the integers of a query can hold."""


def _check_number(_: object, field: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value < _MOST:
        raise ValueError(f"{field.name} must be a number from 0 to {_MOST - 1}, not {value!r}")


def _number(default: float) -> Any:
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
class AuditOptions:
    """The figures of the rules.

    A rule names a figure as `$name` in its query, and the texts of rules name it in backticks.
    """

    now: datetime | None = attrs.field(default=None, converter=attrs.converters.optional(as_since))
    """The time by which dates are judged, instead of that on the clock."""
    examples: int = _number(20)
    """Hits that a finding shows."""
    robots: tuple[str, ...] = _words("Googlebot")
    """Robots whose rules in robots.txt are judged."""
    # dates
    least_dated: int = _number(20)
    """Fewer URLs, or dated URLs, are too few to judge the dates of a sitemap."""
    equal_share: float = _number(0.9)
    """More than this share of equal dates is not an accident."""
    build_share: float = _number(0.5)
    build_minutes: int = _number(15)
    future_hours: int = _number(24)
    zone_hours: int = _number(14)
    """The farthest time zone; a day alone may be meant in any."""
    dated_share: float = _number(0.95)
    stale_years: int = _number(3)
    stale_share: float = _number(0.5)
    news_hours: int = _number(48)
    # indexes and answers
    least_children: int = _number(10)
    tiny_children: int = _number(20)
    tiny_urls: int = _number(100)
    large_bytes: int = _number(MIB)
    slow_first_byte_seconds: float = _number(3)
    slow_seconds: float = _number(20)
    near_urls: int = _number(45_000)
    near_bytes: int = _number(45 * MIB)
    # URLs
    many_parameters: int = _number(4)
    tracking_parameters: tuple[str, ...] = _words(
        *("utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid"),
        *("igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "ttclid", "twclid"),
        *("li_fat_id", "srsltid", "mkt_tok", "vero_id", "oly_enc_id", "wickedid", "pk_campaign"),
    )
    """Parameters that say where a visitor comes from; `*` stands for any characters."""
    session_parameters: tuple[str, ...] = _words(
        *("sid", "sessionid", "session_id", "phpsessid", "jsessionid", "aspsessionid*", "cfid"),
        *("cftoken", "osCsid", "zenid", "sessid", "PHPSESSIONID"),
    )
    search_parameters: tuple[str, ...] = _words(
        *("q", "s", "search", "sort", "order", "filter", "page")
    )
    asset_suffixes: tuple[str, ...] = _words(
        *("css", "js", "json", "xml", "jpg", "jpeg", "png", "svg", "gif", "webp", "avif", "ico"),
        *("woff", "woff2", "map"),
    )
    # comparison
    least_overlap: float = _number(0.5)
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


def fill_figures(text: str, figures: AuditOptions, *, named: bool = False) -> str:
    """Replace the figures that a text names in backticks by their values.

    With `named`, the name stays behind the value: for those who may change it.
    """

    def show(match: re.Match[str]) -> str:
        value = getattr(figures, match[1], None)
        if value is None:
            return match[0]
        return _show_figure(match[1], value) + (f" ({match[0]})" if named else "")

    return _FIGURE.sub(show, text)


def _show_figure(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        more = f" and {len(value) - _MOST_WORDS} others" if len(value) > _MOST_WORDS else ""
        return ", ".join(value[:_MOST_WORDS]) + more
    unit = name.rpartition("_")[2]
    if unit in ("share", "overlap"):
        return f"{value:.0%}"
    if unit == "bytes":
        return show_bytes(value)
    return count_units(value, unit) if unit in _UNITS else show_number(value)


def _match_parameters(names: Iterable[str]) -> str:
    """Return a regular expression; its second group is the parameter."""
    words = "|".join(re.escape(name).replace(r"\*", "[^=&;]*") for name in names)
    return rf"(?i)(^|[&;?])(({words})=[^&;]*)"
