"""Settings of a project: a file with values for options that the command line leaves out.

In `sitemapreader.toml`, or below `[tool.sitemapreader]` in `pyproject.toml`, a key is the long name
of an option. It holds for all commands that have the option, or, in a table with the name of a
command, for that one. The command line goes before it.
"""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from datetime import date
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._cli.options import FLAGS, Option, list_options
from sitemapreader._cli.parser import usage_errors
from sitemapreader._types.habits import suggest
from sitemapreader._types.options import PROXIES_OF_ENVIRONMENT, FetchOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

SETTINGS_FILES = (
    ("sitemapreader.toml", ()),
    ("pyproject.toml", ("tool", "sitemapreader")),
)
"""Names of the files, and the table in each; the first that has something is read."""
USER_AGENT_VARIABLE = "SITEMAPREADER_USER_AGENT"
_AUDIT_TABLES = ("severity", "figures")
"""Tables of `[audit]` that stand for no option."""
_ONLY_TYPED = frozenset(
    {
        *("--help", "--version", "--json", "--explain", "--list-rules", "--dry-run"),
        # SECURITY: who may write the settings, as with a pull request, may not send the requests
        # or the secrets of the user elsewhere. A password belongs into no such file.
        *("--user", "--header", "--endpoint", "--allow-network", "--allow-port"),
        *("--map-host", "--was", "--in"),
    }
)
"""Options that no file may set."""
_NUMERIC_VALUES = ("N", "N|all", "SECONDS", "TIME")
"""Values of options that may be numbers."""
_SWITCHES = {"store_true": True, "store_false": False}


@attrs.frozen
class Settings:
    """The settings that hold for one command."""

    values: dict[str, Any] = attrs.field(factory=dict)
    """Name of an argument -> its value."""
    tables: dict[str, dict[str, Any]] = attrs.field(
        factory=lambda: {name: {} for name in _AUDIT_TABLES}
    )
    """The severities and figures of an audit, as written."""
    file: str = ""


def read_settings(command: str, folder: Path) -> Settings:
    """Return the settings for a command, of a folder and of the environment.

    Raises UsageError for settings that make no sense.
    """
    settings = Settings()
    for file, keys in SETTINGS_FILES:
        with usage_errors(ArgumentTypeError, OSError, ValueError, begin=f"{file}: "):
            if table := _read_table(folder / file, keys):
                settings = _SettingsReader(command, folder).read(table, file)
                break
    agent = os.environ.get(USER_AGENT_VARIABLE)
    if agent and "--user-agent" in FLAGS[command]:
        with usage_errors(ValueError, begin=f"{USER_AGENT_VARIABLE}: "):
            FetchOptions(user_agent=agent)
        settings.values["user_agent"] = agent
    return settings


def _read_table(path: Path, keys: Iterable[str]) -> dict[str, Any]:
    """Return the table that has our settings; an empty one if there is none."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    if any(key not in text for key in keys):  # another tool's file, whatever is in it
        return {}
    import tomllib  # noqa: PLC0415 (few runs have such a file)

    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ArgumentTypeError("the file is nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        if "Invalid value" not in str(error):
            raise
        raise ArgumentTypeError(f'{error}: write a text in quotes: "text"') from None
    for key in keys:
        table = _get_table(table, key)
    return table


def _get_table(table: dict[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise ArgumentTypeError(f"{key} must be a table")
    return found


def check_names(
    what: str,
    names: Iterable[Any],
    known: Collection[str],
) -> None:
    """Raise ArgumentTypeError for unknown names, with the ones that may have been meant."""
    unknown = [name for name in names if name not in known]
    if unknown:
        said = ", ".join(map(repr, unknown))
        hint = suggest(str(unknown[0]), known, f" choose from {', '.join(known)}")
        raise ArgumentTypeError(f"there is no {what} {said}:{hint}")


@attrs.frozen
class _SettingsReader:
    """Reads the settings of one file."""

    _command: str
    _folder: Path

    def read(self, table: dict[str, Any], file: str) -> Settings:
        """Return the settings for the command; raise ArgumentTypeError for wrong ones."""
        sections = {name: each for name, each in table.items() if name in FLAGS}
        sections = {n: each for n, each in sections.items() if isinstance(each, dict)}
        shared = {name: each for name, each in table.items() if name not in sections}
        tables = [name for name, each in shared.items() if isinstance(each, dict)]
        check_names("command", tables, FLAGS)
        check_names("setting", shared, sorted({*_list_settings(FLAGS)}))
        for name in sections:
            extra = _AUDIT_TABLES if name == "audit" else ()
            check_names(
                f"setting of {name}",
                sections[name],
                [*sorted({*_list_settings([name])}), *extra],
            )
        own = dict(sections.get(self._command, {}))
        chosen = {name: own.pop(name, {}) for name in _AUDIT_TABLES}
        for name in _AUDIT_TABLES:
            _get_table(chosen, name)
        values: dict[str, Any] = {}
        for _, options in list_options(self._command):
            for option in options:
                name = option.name.removeprefix("--")
                value = own.get(name, shared.get(name))
                if value is not None and option.name.startswith("--"):
                    values |= self._convert(option, name, value)
        return Settings(values, chosen, file)

    def _convert(
        self,
        option: Option,
        name: str,
        value: Any,
    ) -> dict[str, Any]:
        """Return the argument that an option makes of a value, if it makes one."""
        action = option.settings.get("action")
        const = _SWITCHES.get(str(action), option.settings.get("const"))
        if const is not None:
            if not isinstance(value, bool):
                raise ArgumentTypeError(f"{name} must be true or false, got {value!r}")
            if not value:
                return {}
            return {option.key: [const] if action == "append_const" else const}
        values = value if isinstance(value, list) else [value]
        texts = [self._read_text(option, name, each) for each in values]
        if action == "append":
            return {option.key: [self._parse(option, name, each) for each in texts]}
        return {option.key: self._parse(option, name, ",".join(texts))}

    def _read_text(
        self,
        option: Option,
        name: str,
        value: Any,
    ) -> str:
        if isinstance(value, date):
            return value.isoformat()
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and option.settings.get("metavar") in _NUMERIC_VALUES:
            return str(value)
        if not isinstance(value, str):
            raise ArgumentTypeError(f"{name} must be a text, got {value!r}")
        return value

    def _parse(
        self,
        option: Option,
        name: str,
        text: str,
    ) -> Any:
        typed = f"name it on the command line with --{name}"
        # SECURITY: who may write the settings, as with a pull request, may not read other files.
        is_file = option.file or option.settings.get("metavar") == "FOLDER"
        if is_file and not self._is_inside(text):
            raise ArgumentTypeError(f"{name}: {text!r} is not in this folder: {typed}")
        if option.key == "proxy" and text != PROXIES_OF_ENVIRONMENT:
            said = f"only {PROXIES_OF_ENVIRONMENT!r} can be set in a file"
            raise ArgumentTypeError(f"{name}: {said}: for another proxy, {typed}")
        if option.choices:
            check_names(name, [text], option.choices)
        try:
            return option.type(text) if option.type else text
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{name}: {error}") from None

    def _is_inside(self, text: str) -> bool:
        folder = self._folder.resolve()
        return (folder / text).resolve().is_relative_to(folder)


def _list_settings(commands: Iterable[str]) -> Iterator[str]:
    """Yield the names that a file may set for some commands."""
    for command in commands:
        for flag in FLAGS[command]:
            if flag.startswith("--") and flag not in _ONLY_TYPED:
                yield flag.removeprefix("--")
