"""Settings of an audit in a file: pyproject.toml or sitemapreader.toml."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.models import AuditInputError
from sitemapreader.audit.options import AuditOptions
from sitemapreader.issues import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

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
            raise AuditInputError(f"{name}: there is no {figure!r}{suggest(figure, known)}")
    try:
        AuditOptions(**value).make_parameters(datetime.now(UTC))
    except (TypeError, ValueError, OverflowError) as error:
        raise AuditInputError(f"{name}: {error}") from None
    return value


_KEYS: dict[str, Callable[[str, Any], Any]] = {
    "select": _list_words,
    "ignore": _list_words,
    "robots": _list_words,
    "fail-on": _choose_word,
    "rules": _name_file,
    "baseline": _name_file,
    "urls": _name_file,
    "severity": _grade,
    "figures": _read_figures,
}
"""Key -> what checks its value."""


@attrs.frozen
class AuditSettings:
    """The settings of a file; what it does not have is as if the file were not there."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    robots: tuple[str, ...] = ()
    fail_on: str = "error"
    rules: str | None = None
    baseline: str | None = None
    urls: str | None = None
    severity: Mapping[str, Severity] = attrs.field(factory=dict)
    figures: Mapping[str, Any] = attrs.field(factory=dict)


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
    values = {}
    for key, value in table.items():
        if key not in _KEYS:
            raise AuditInputError(f"there is no setting {key!r}{suggest(key, _KEYS)}")
        values[key.replace("-", "_")] = _KEYS[key](key, value)
    return AuditSettings(**values)


def suggest(word: str, known: Iterable[str]) -> str:
    """Return words that name the known word that is nearest, or all of them."""
    known = list(known)
    close = get_close_matches(word, known, n=1, cutoff=0.5)
    return f": did you mean {close[0]!r}?" if close else f": choose from {', '.join(known)}"
