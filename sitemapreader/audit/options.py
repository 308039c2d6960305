"""The figures of the rules, and the settings of an audit in a file."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.models import AuditInputError
from sitemapreader.audit.report import count_units, show_number
from sitemapreader.dates import as_since
from sitemapreader.errors import suggest
from sitemapreader.issues import Severity
from sitemapreader.outcomes import show_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

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
    large_bytes: int = _number(1_048_576)
    slow_first_byte_seconds: float = _number(3)
    slow_seconds: float = _number(20)
    near_urls: int = _number(45_000)
    near_bytes: int = _number(47_185_920)
    # pages
    page_seconds: float = _number(900)
    """For all visits; what is not reached then is not judged."""
    page_seed: int = _number(0)
    page_probes: int = _number(10)
    """Folders in which a made-up path is asked for."""
    slow_page_seconds: float = _number(3)
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


FILES = (("sitemapreader.toml", ("audit",)), ("pyproject.toml", ("tool", "sitemapreader", "audit")))
"""Names of the files, and the table in each; the first that has the table is read."""
FAIL_ON = ("error", "warning", "info", "never")


def _list_words(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise AuditInputError(f"{name} must be a list of words, such as {name} = ['url-*']")
    return tuple(value)


def _choose_word(name: str, value: Any) -> str:
    if value not in FAIL_ON:
        raise AuditInputError(f"{name}: there is no {value!r}: write {', '.join(FAIL_ON)}")
    return str(value)


def _name_file(name: str, value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise AuditInputError(f"{name} must be the name of a file or folder, not {value!r}")
    return value


def _grade(name: str, value: Any) -> dict[str, Severity]:
    if not isinstance(value, dict):
        raise AuditInputError(f"{name} must be a table of codes, such as url-asset = 'info'")
    names = [severity.name.lower() for severity in Severity]
    for code, word in value.items():
        if word not in names:
            raise AuditInputError(
                f"{name} of {code}: there is no {word!r}: write {', '.join(names)}"
            )
    return {code: Severity[word.upper()] for code, word in value.items()}


def _read_figures(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise AuditInputError(f"{name} must be a table, such as stale_years = 5")
    known = [field.name for field in attrs.fields(AuditOptions)]
    for figure in value:
        if figure not in known:
            raise AuditInputError(f"{name}: there is no {figure!r}:{_suggest(figure, known)}")
    try:
        AuditOptions(**value).make_parameters(datetime.now(UTC))
    except (TypeError, ValueError, OverflowError) as error:
        raise AuditInputError(f"{name}: {error}") from None
    return value


def _setting(check: Callable[[str, Any], Any], default: Any = None) -> Any:
    return attrs.field(default=default, metadata={"check": check})


@attrs.frozen
class AuditSettings:
    """The settings of a file; what it does not have is as if the file were not there."""

    select: tuple[str, ...] = _setting(_list_words, ())
    ignore: tuple[str, ...] = _setting(_list_words, ())
    robots: tuple[str, ...] = _setting(_list_words, ())
    fail_on: str = _setting(_choose_word, "error")
    rules: str | None = _setting(_name_file)
    baseline: str | None = _setting(_name_file)
    urls: str | None = _setting(_name_file)
    severity: Mapping[str, Severity] = _setting(_grade, attrs.Factory(dict))
    figures: Mapping[str, Any] = _setting(_read_figures, attrs.Factory(dict))


def find_settings(folder: Path) -> AuditSettings:
    """Return the settings of a folder; raise AuditInputError for invalid ones."""
    for name, keys in FILES:
        table = _read_table(folder / name, keys)
        if table is not None:
            try:
                settings = parse_settings(table)
                _check_files(settings, folder)
            except AuditInputError as error:
                raise AuditInputError(f"{name}: {error}") from None
            return settings
    return AuditSettings()


def _check_files(settings: AuditSettings, folder: Path) -> None:
    """Raise AuditInputError for files outside of the folder."""
    # SECURITY: who may write the settings, as with a pull request, may not read other files.
    for key in ("rules", "baseline", "urls"):
        name = getattr(settings, key)
        if name and not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise AuditInputError(
                f"{key}: {name!r} is not in this folder: name it on the command line with --{key}"
            )


def _read_table(path: Path, keys: tuple[str, ...]) -> dict[str, Any] | None:
    try:
        table: Any = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise AuditInputError(f"{path.name} cannot be read: {error}") from None
    for key in keys:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise AuditInputError(f"{path.name}: {'.'.join(keys)} must be a table")
    return table or None


def parse_settings(table: Mapping[str, Any]) -> AuditSettings:
    """Return the settings of a table; raise AuditInputError."""
    fields = {each.name.replace("_", "-"): each for each in attrs.fields(AuditSettings)}
    values = {}
    for key, value in table.items():
        if key not in fields:
            raise AuditInputError(f"there is no setting {key!r}:{_suggest(key, fields)}")
        values[fields[key].name] = fields[key].metadata["check"](key, value)
    return AuditSettings(**values)


def _suggest(word: str, known: Iterable[str]) -> str:
    return suggest(word, known, f" choose from {', '.join(known)}")
