"""Argument parsers, and exit codes; an error says how to correct the command."""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from sitemapreader._cli.options import EVERYDAY, FLAGS, OPTIONS, list_options
from sitemapreader._cli.types import parse_pattern
from sitemapreader._types.habits import advise_option, suggest
from sitemapreader._types.issues import excerpt
from sitemapreader._types.options import Limits
from sitemapreader._types.patterns import doubt_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

ALL_READ, NO_URL, USAGE, PARTIAL, NOTHING_FETCHED, FOUND, LOCKED, DIFFERENT = range(8)
SIGNALLED = 128
"""Added to the number of the signal that stopped the program, as a shell reports it."""
INTERRUPTED = SIGNALLED + 2
CLOSED_PIPE = SIGNALLED + 13

MEANINGS = {
    str(ALL_READ): "everything was read",
    str(NO_URL): "no URL was found, or it could not be written or submitted",
    str(USAGE): "wrong usage; nothing was fetched",
    str(PARTIAL): "URLs were printed, but something that is listed was not read",
    str(NOTHING_FETCHED): "nothing could be fetched",
    str(FOUND): "audit, compare: there are findings that --fail-on names",
    str(LOCKED): "another run is writing the state; nothing was fetched",
    str(DIFFERENT): "--exit-code: something is new, changed, unlisted or gone",
    f"{SIGNALLED + 1}, {INTERRUPTED}, {SIGNALLED + 15}": "stopped by SIGHUP, SIGINT, SIGTERM",
    str(CLOSED_PIPE): "the reader closed the output",
}
"""One or more codes -> their meaning, as `--help` prints it."""

MAX_MESSAGE = 2_000
"""Characters of a message, which may quote foreign text."""
_MOST_SHOWN = 15
"""Options in the short help, which is to fit the 24 lines of a terminal."""
_FLAGS_WIDTH = 24
_LINE_WIDTH = 79
_BREAK = re.compile(r"[:;](?= )|, | \(")
"""Places where the help of an option may be cut, if outside parentheses."""
_NEGATIVE = re.compile(r"-(?!0$)\d.*")
"""Values such as -7d, which are no options; but `-0` is one."""


_MARK = "\0"
"""Before a word that begins with a dash and stands after `--`; no word of a command line has it."""


class UsageError(ValueError):
    """Wrong arguments; the message says how to correct them."""


@contextmanager
def usage_errors(*kinds: type[Exception], begin: str = "") -> Iterator[None]:
    """Raise UsageError for errors of these kinds, with a beginning before their messages."""
    try:
        yield
    except kinds as error:
        raise UsageError(f"{begin}{error}") from None


_APPEND = (argparse._AppendAction, argparse._AppendConstAction)  # noqa: SLF001 (no public name)


class Arguments(argparse.Namespace):
    """The values of the options; `None` is one that is not given, or not there."""

    def __getattr__(self, name: str) -> Any:
        return None


class Parser(argparse.ArgumentParser):
    """A parser that takes options anywhere, and escapes its messages for a terminal."""

    shows_all = False
    commands = ""
    """A line that names them, for the short help of the program."""

    def __init__(self, *, example: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self._example = example
        self._command = ""
        self._negative_number_matcher = _NEGATIVE

    def add_options(self, command: str) -> None:
        """Add the options of a command, in groups."""
        self._command = command
        for title, options in list_options(command):
            group = self.add_argument_group(title)
            places: dict[str, argparse._ActionsContainer] = {"": group}
            for option in options:
                if option.rivals not in places:
                    places[option.rivals] = group.add_mutually_exclusive_group()
                place = places[option.rivals]
                place.add_argument(*option.flags, **option.settings)
        self._has_negative_number_optionals.clear()  # -0, which `_NEGATIVE` knows

    def print_help(self, file: Any = None) -> None:
        """Print the help that the options select: in short, or all of it."""
        if self.shows_all:
            text = self.format_help()
        else:
            text = self.format_short()
        self._print_message(text, file or sys.stdout)

    def format_short(self) -> str:
        """Return the help of the everyday options, a line each, as fits a terminal."""
        options = [each for each in self.list_actions() if each.option_strings]
        shown = options
        if len(options) > _MOST_SHOWN:
            shown = [each for each in options if each.option_strings[-1] in EVERYDAY]
        if len(shown) < len(options):
            rest = f" {len(options) - len(shown)} more options,"
        else:
            rest = ""
        lines = [
            self.format_usage(),
            f"{(self.description or '').partition(chr(10))[0]}\n",
        ]
        lines += [_show_option(each) for each in shown[:_MOST_SHOWN]]
        said = f"`{self.prog} --help --all` shows{rest} examples and more."
        if self._example:
            example = f"for example: {self._example}"
        else:
            example = ""
        lines += ["", *filter(None, [example, self.commands]), f"{said}\n"]
        return "\n".join(lines)

    def parse(
        self, words: list[str], defaults: dict[str, Any] | None = None
    ) -> Arguments:
        """Parse the arguments, or exit with a message; `defaults` go before the parser's own."""
        words = _mark_sources(words)
        self.shows_all = "--all" in words
        defaults = defaults or {}
        for action in self.list_actions():
            # to a list of the command line nothing is added
            if action.dest in defaults and not isinstance(action, _APPEND):
                action.default = defaults[action.dest]
                action.required = False
        arguments, unknown = self.parse_known_intermixed_args(words)
        for name, value in vars(arguments).items():
            setattr(arguments, name, _remove_marks(value))
        # only what stands before "=": the value may be a password
        names = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        if names:
            self.error(f"{self._describe_unknown(names)} see {self.prog} --help")
        unknown = _remove_marks(unknown)
        if unknown:
            single = [each.metavar for each in self.list_actions() if each.nargs == "?"]
            if single:
                hint = f" the command takes one {single[0]}, so run it for each;"
            else:
                hint = ""
            self.error(
                f"unexpected argument: {' '.join(unknown)};{hint} see {self.prog} --help"
            )
        given = {
            name: each for name, each in vars(arguments).items() if each is not None
        }
        # not before: argparse asks what it has not
        return Arguments(**vars(arguments) | defaults | given)

    def _describe_unknown(self, names: list[str]) -> str:
        """Describe unknown options, with the ones to write instead."""
        said = [f"unknown option: {' '.join(names)};"]
        for name in names:
            if hint := advise_option(name, self._command, FLAGS):
                about = f" {name}:" if len(names) > 1 else ""
                said.append(f"{about}{hint};".replace("?;", "?"))
        return "".join(said)

    def list_actions(self) -> list[argparse.Action]:
        """Return the options and the positional arguments."""
        return list(self._actions)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reject a value that is not among the choices, and suggest the closest one."""
        if action.choices is None or value in action.choices:
            return
        choices = list(map(str, action.choices))
        hint = suggest(str(value), choices)
        raise argparse.ArgumentError(
            action, f"unknown value {value!r}:{hint} choose from {', '.join(choices)}"
        )

    def error(self, message: str) -> NoReturn:
        """Print the usage and a message, and exit with 2."""
        super().error(excerpt(message, MAX_MESSAGE))


def _mark_sources(words: list[str]) -> list[str]:
    """Return words without `--`; words after it are marked if they look like options.

    Before Python 3.13, argparse loses the first of them in `parse_known_intermixed_args`.
    """
    if "--" not in words:
        return words
    end = words.index("--")
    sources = words[end + 1 :]
    marked = [f"{_MARK}{word}" if word[:1] == "-" != word else word for word in sources]
    return [*words[:end], *marked]


def _remove_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_remove_marks, value)]
    if isinstance(value, str):
        return value.removeprefix(_MARK)
    return value


def _show_option(action: argparse.Action) -> str:
    """Return an option and the beginning of its help as a line."""
    value = action.metavar or (
        "|".join(map(str, action.choices)) if action.choices else ""
    )
    names = f"  {', '.join(action.option_strings)}"
    flags = f"{names} {value}".rstrip()
    if len(flags) >= _FLAGS_WIDTH:
        flags = f"{names} {'WORD' if action.choices else str(value).partition('[')[0]}"
    text = action.help or ""
    width = _LINE_WIDTH - max(_FLAGS_WIDTH, len(flags) + 1)
    if len(text) > width:
        breaks = [each.start() for each in _BREAK.finditer(text, 0, width)]
        whole = [
            end for end in breaks if text.count("(", 0, end) == text.count(")", 0, end)
        ]
        cut = max(whole, default=0)
        if cut > width // 3:
            text = text[:cut]
        else:
            text = f"{text[: text.rfind(' ', 0, width - 3)]} ..."
    return f"{flags:{_FLAGS_WIDTH - 1}} {text}"


# -- files

_STANDARD = ("-", os.devnull)
_PATH_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))
_UPDATED_OPTIONS = ("--baseline", "--write-baseline")
"""A file that is read whole before it is written."""
_BESIDE_A_STATE = ("-wal", "-shm", "-lock")
"""Ends of the names of files that belong to a state."""
_DOCUMENT = re.compile(
    r"robots\.txt|sitemap.*\.txt|.*\.(x?html?|xml)(\.gz)?", re.IGNORECASE
)
"""Names that a walk over a folder may read."""
_REPORTS = (b"\n<testsuites ", b"default-src 'none'; style-src 'sha256-")
_HEAD_BYTES = 4_096
"""Beginnings of reports in XML or HTML, and their places."""


def check_files(command: str, arguments: argparse.Namespace) -> None:
    """Raise UsageError for an output that is read, or written, otherwise."""
    known: dict[object, str] = {}
    options = [
        option for _, group in list_options(command) for option in group if option.file
    ]
    # what is read comes first
    for option in sorted(options, key=lambda option: option.file):
        given = getattr(arguments, option.key)
        for path in given if isinstance(given, list) else [given]:
            if not path or path in _STANDARD:
                continue
            file = _identify(path)
            other = known.get(file, "")
            if (
                other
                and option.file == "written"
                and (other, option.name) != _UPDATED_OPTIONS
            ):
                if other.startswith("-"):
                    what = other
                else:
                    what = "a source"
                said = (
                    f"{option.name} {path}: {what} is the same file; name another one"
                )
                raise UsageError(said)
            folder = Path(path).parent
            is_folder = path.endswith(_PATH_SEPARATORS) or Path(path).is_dir()
            if option.file == "written" and is_folder:
                said = f"that is a folder: name a file, such as {_name_inside(path)}"
                raise UsageError(f"{option.name} {path}: {said}")
            if option.file == "written" and not folder.exists():
                said = f"the folder {folder} does not exist: make it first"
                raise UsageError(f"{option.name} {path}: {said}")
            if option.file == "written" and _is_document(Path(path), known.keys()):
                what = "the folder that you read has this document"
                raise UsageError(
                    f"{option.name} {path}: {what}; name a file outside the folder"
                )
            known[file] = option.name
            if option.key in ("state", "state_file"):
                known |= {
                    _identify(f"{path}{end}"): option.name for end in _BESIDE_A_STATE
                }


def _name_inside(folder: str) -> str:
    return str(Path(folder, "urls.csv"))


def _is_document(path: Path, known: Collection[object]) -> bool:
    """Return whether a folder that is read has a file, no report, as a document."""
    if not _DOCUMENT.fullmatch(path.name) or not path.is_file():
        return False
    if not any(_identify(str(folder)) in known for folder in path.resolve().parents):
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return not any(mark in head for mark in _REPORTS)


def _identify(path: str) -> object:
    """Return the identity of a file, which is the same for all links to it."""
    try:
        status = os.stat(path)  # noqa: PTH116 (texts that are no path are given, too)
    except (OSError, ValueError):  # it does not exist yet, or is the URL of a site
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def list_doubts(command: str, arguments: argparse.Namespace) -> list[str]:
    """Return a line for each regular expression that was probably meant as a glob."""
    options = [option for _, group in list_options(command) for option in group]
    doubts = {
        option.name: doubt_pattern(pattern.pattern)
        for option in options
        if option.type is parse_pattern
        for pattern in getattr(arguments, option.key) or ()
    }
    return [f"{name}: {doubt}" for name, doubt in doubts.items() if doubt]


# -- what messages of the library call its arguments in the shell

_LIBRARY_ONLY = ("Limits", "min_bytes_per_second")
"""Prefixes of arguments that have no option in the shell."""
_ARGUMENT = re.compile(r"`([^`]+)`")
_OPTION_CLASS = re.compile(r"(?:Search|Follow|FetchOptions|Sample)[.(](.*?)\)?$")
"""Classes whose fields are options of the shell, by their own names."""


def _list_names() -> Iterator[tuple[str, str]]:
    for option in (each for group in OPTIONS.values() for each in group):
        if option.name.startswith("--"):
            of_limits = option.key in attrs.fields_dict(Limits)
            yield f"Limits.{option.key}" if of_limits else option.key, option.name
            if const := option.settings.get("const"):
                yield f"{option.key}:{const}", option.name
            yield from ((said, option.name) for said in option.says)


_NAMES = dict(_list_names())
"""An argument, or an argument and a value of it -> the option of the shell."""


def name_options(text: str) -> str:
    """Replace the arguments of the library that a text names by options of the shell."""
    return _ARGUMENT.sub(_name_option, text)


def _name_option(match: re.Match[str]) -> str:
    name, _, value = _OPTION_CLASS.sub(r"\1", match[1]).partition("=")
    word = value.strip('"{}')
    for said, rest in (match[1], ""), (f"{name}:{word}", ""), (name, word):
        if said in _NAMES:
            return (
                f"{_NAMES[said]} {'' if rest in ('True', 'False') else rest}".rstrip()
            )
    return (
        f"{match[1]} (in Python; no option does it)" * name.startswith(_LIBRARY_ONLY)
        or match[0]
    )
