"""Advice for names that are not known here: habits from other tools, and typing errors.

`habits.toml` has the habits. No advice is better than a wrong one.
"""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import TypeAlias

    Flags: TypeAlias = Mapping[str, Collection[str]]
    """Options of a command -> the values that each may have, if they are few."""

_PROGRAM = "sitemapreader"
_CUTOFF = 0.75
"""Least likeness of a typing error. With 0.6, `--json` is `--version`."""
_NEGATIONS = {"no", "not", "skip", "ignore", "disable", "without", "exclude"}
"""Words before a name that turn its meaning round."""
_FLAG = re.compile(r"(?<!\S)--?[a-z][a-z-]*", re.IGNORECASE)
_VALUE = re.compile(r"--format ([a-z]+)")
_INNER_ARGUMENTS = re.compile(r"(?:state, |number, )?(\S.*?)\)(?=$|[,; ])")
"""The rest of a call, after its parenthesis."""
_KEYWORD = re.compile(r"(\w+)=")


def _find_close(word: str, known: Iterable[str]) -> str:
    """Return the known word that a typing error makes this one of; "" if there is none."""
    from difflib import get_close_matches  # noqa: PLC0415 (only where something is wrong)

    words = list(known)
    swapped = [each for each in words if sorted(each) == sorted(word)]
    return next(iter(swapped or get_close_matches(word, words, 1, _CUTOFF)), "")


def suggest(
    word: str,
    known: Iterable[str],
    otherwise: str = "",
) -> str:
    """Return " did you mean ...?" with the known word that is closest, if any is."""
    close = _find_close(word, known)
    return f" did you mean {close}?" if close else otherwise


@attrs.frozen
class _Habit:
    """A row of the table: names, and the text to write in their place."""

    names: frozenset[str]
    words: frozenset[str]
    write: tuple[str, ...]
    none: str

    def advise(self, fits: Callable[[str], bool]) -> str:
        """Return the first text that fits, or the reason why there is none; "" for neither."""
        text = next(filter(fits, self.write), "")
        if text:
            return f"write {text}"
        if self.none:
            return f"there is none: {self.none}"
        return ""


@cache
def _load_habits() -> dict[str, list[_Habit]]:
    import tomllib  # noqa: PLC0415 (only where something is wrong)

    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return {
        kind: [
            _Habit(
                frozenset(map(_normalize, row.get("names", "").split())),
                frozenset(row.get("words", "").split()),
                tuple(row.get("write", ())),
                row.get("none", ""),
            )
            for row in rows
        ]
        for kind, rows in table.items()
    }


def _normalize(name: str) -> str:
    """Return a name without hyphens and capitals; a letter keeps its case."""
    bare = name.lstrip("-")
    if len(bare) == 1:
        return bare
    return re.sub(r"[-_]", "", bare.lower())


def _split_name(name: str) -> list[str]:
    return re.split(r"[-_]+", name.strip("-_").lower())


def _find_habits(kind: str, name: str) -> list[_Habit]:
    """Return the rows that have a name; else the row of the first of its words that has one."""
    habits = _load_habits()[kind]
    if exact := [habit for habit in habits if _normalize(name) in habit.names]:
        return exact
    for word in _split_name(name):
        if found := [habit for habit in habits if word in habit.words]:
            return found
    return []


def _advise(
    kind: str,
    name: str,
    fits: Callable[[str], bool],
) -> str:
    """Return the advice of all rows for a name, with a blank before it; "" if there is none."""
    said = [habit.advise(fits) for habit in _find_habits(kind, name)]
    text = "; or ".join(dict.fromkeys(filter(None, said)))
    bare = name.lstrip("-")
    filled = text.replace("{program}", _PROGRAM).replace("{name}", bare)
    return f" {filled}" if filled else ""


def _is_negated(name: str) -> bool:
    return _split_name(name)[0] == "no"


def advise_option(
    name: str,
    command: str,
    flags: Mapping[str, Flags],
) -> str:
    """Return the hint for an unknown option, with a blank before it; "" if there is none.

    Args:
        name: the option as it was typed, such as "--max-urls" or "-k".
        command: the command that has no such option.
        flags: the options of each command.
    """
    own = flags[command]
    is_exact = _is_listed(name)
    if not is_exact and re.match("-[a-z]", name, re.IGNORECASE):
        name = name[:2]  # several letters in one word, as in `-sS`
        is_exact = True
    is_turned = _split_name(name)[0] in _NEGATIONS and not is_exact

    def fits(text: str) -> bool:
        if is_turned and not text.startswith("--no-"):
            return False
        return _fits_command(text, own)

    if advice := _advise("option", name, fits):
        return advice
    if owners := [each for each, known in flags.items() if name in known]:
        return f" it is an option of {', '.join(owners)}"
    if is_exact:
        return _name_owners(name, flags)
    alike = [
        each.lstrip("-")
        for each in own
        if each.startswith("--") and _is_negated(each) == _is_negated(name)
    ]
    close = _find_close(name.lstrip("-"), alike)
    return f" did you mean --{close}?" if close else ""


def _is_listed(name: str) -> bool:
    return any(_normalize(name) in habit.names for habit in _load_habits()["option"])


def _fits_command(text: str, flags: Flags) -> bool:
    """Return whether a command has the options in a text, and prints lines that a pipe may read."""
    formats = flags.get("--format", ())
    if text.startswith(("|", ">")):
        return "jsonl" in formats
    if not text.startswith("-"):
        return True
    if not flags.keys() >= set(_FLAG.findall(text.partition(" |")[0])):
        return False
    return all(value in formats for value in _VALUE.findall(text) if value.islower())


def _name_owners(name: str, flags: Mapping[str, Flags]) -> str:
    """Return the commands that have the replacement of an option."""
    for habit in _find_habits("option", name):
        for text in habit.write:
            fitting = [each for each in flags if _fits_command(text, flags[each])]
            if text.startswith("-") and fitting:
                return f" there is none here; {', '.join(fitting)} have {text}"
    return ""


def advise_command(word: str, commands: Collection[str]) -> str:
    """Return the hint for a word that is no command; "" if there is none."""
    close = suggest(word, commands)
    return _advise("command", word, lambda _: True) or close


def is_written_with(text: str, known: Collection[str]) -> bool:
    """Return whether an advice begins with an argument that is known, or with none."""
    keyword = _KEYWORD.match(text)
    return keyword is None or keyword[1] in known


def advise_argument(
    name: str,
    known: Collection[str],
    settings: Mapping[str, str],
) -> str:
    """Return the hint for an unknown keyword argument; "" if there is none.

    Args:
        name: the name as it was given.
        known: the arguments of the function.
        settings: names that are set inside of an argument -> how they are written.
    """
    if name in settings:
        return f" write {settings[name]}"
    for habit in _find_habits("argument", name):
        for text in habit.write:
            argument, _, value = text.partition("=")
            if argument in settings:
                return f" write {settings[argument].replace('...', value)}"

    fits = partial(is_written_with, known=known)
    if advice := _advise("argument", name, fits):
        return advice
    close = _find_close(name, [*known, *settings])
    return f" did you mean {settings.get(close, close)}?" if close else ""


def advise_field(
    name: str,
    opening: str,
    fields: Collection[str],
) -> str:
    """Return the hint for an unknown field of a class of options; "" if there is none.

    Args:
        name: the name as it was given.
        opening: how the class begins as an argument, such as "limits=Limits(".
        fields: the fields of the class.
    """
    for habit in _find_habits("argument", name):
        for text in habit.write:
            if written := _INNER_ARGUMENTS.match(text.partition(opening)[2]):
                return f" write {written[1]}"
    return suggest(name, fields)


def advise_name(name: str, known: Collection[str]) -> str:
    """Return which public name may have been meant; "" if unknown."""
    return suggest(name, known) or _advise("name", name, lambda _: True)
