"""The regular expressions of the package, how each is called, and texts that are hard for it."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from functools import cache
from re import (  # type: ignore[attr-defined]  # no public parser exists
    _constants as kinds,
    _parser as parser,
)
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.package import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

SEARCHES = frozenset({"search", "findall", "finditer", "sub", "subn", "split"})
"""Methods that try an expression at each place of a text."""
METHODS = SEARCHES | {"match", "fullmatch"}
_MODULE_CALLS = METHODS | {"compile"}


class Expression(NamedTuple):
    """One expression, and one of the ways in which the package calls it."""

    place: str
    pattern: re.Pattern[Any]
    method: str

    def run(self, text: str) -> None:
        """Call it as the package does, to the end of the text."""
        subject = text.encode("latin-1", "replace") if is_bytes(self.pattern) else text
        if self.method in ("sub", "subn"):
            self.pattern.sub(b"" if is_bytes(self.pattern) else "", subject)
        elif self.method == "finditer":
            for _ in self.pattern.finditer(subject):
                pass
        else:
            getattr(self.pattern, self.method)(subject)


def is_bytes(pattern: re.Pattern[Any]) -> bool:
    """Return whether an expression is one of bytes."""
    return isinstance(pattern.pattern, bytes)


# -- where they are


class Site(NamedTuple):
    """A call that makes an expression: `re.compile(...)`, or `re.sub(...)` and the like."""

    place: str
    module: str
    name: str
    """The global that it is assigned to; "" inside of a function."""
    call: ast.Call
    method: str


_ATTRIBUTE = re.compile(rf"\.\s*(?:{'|'.join(sorted(_MODULE_CALLS))})\b")


@cache
def _parse(path: Path) -> ast.Module:
    """Parse a module; as an empty one, if no text in it could be a call that is looked for.

    Each worker does this before its first test, and to parse takes longer than to search.
    """
    text = path.read_text("utf-8")
    return ast.parse(text if _ATTRIBUTE.search(text) else "")


def find_sites(paths: Sequence[Path]) -> list[Site]:
    """Find the calls in these files that make an expression."""
    sites = []
    for path in paths:
        relative = path.relative_to(PACKAGE.parent).with_suffix("")
        module = ".".join(relative.parts).removesuffix(".__init__")
        for scope, name, function in _list_scopes(_parse(path)):
            for node in ast.walk(scope):
                if isinstance(node, ast.Call) and (method := _method_of_re(node)):
                    place = f"{module}:{name or function}"
                    sites.append(Site(place, module, name, node, method))
    return sites


def _list_scopes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield each statement that is no block, its global name, and its function's name."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
            values = [statement.value]
            if isinstance(statement.value, ast.Tuple) and len(
                statement.value.elts
            ) == len(names):
                values = statement.value.elts
            for name, value in zip(names, values, strict=False):
                yield value, name, ""
        elif isinstance(statement, ast.AnnAssign) and isinstance(
            statement.target, ast.Name
        ):
            yield statement, statement.target.id, ""
        elif isinstance(statement, ast.ClassDef):
            for each in statement.body:
                yield each, "", f"{statement.name}.{getattr(each, 'name', '')}"
        else:
            yield statement, "", getattr(statement, "name", "")


def _method_of_re(call: ast.Call) -> str:
    function = call.func
    is_of_re = (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in _MODULE_CALLS
    )
    return function.attr if isinstance(function, ast.Attribute) and is_of_re else ""


def find_methods(paths: Sequence[Path]) -> dict[str, set[str]]:
    """Return by which methods the expression of each name is called anywhere."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        for node in ast.walk(_parse(path)):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                value = (
                    node.value.value
                    if isinstance(node.value, ast.Subscript)
                    else node.value
                )
                name = (
                    value.id
                    if isinstance(value, ast.Name)
                    else getattr(value, "attr", "")
                )
                found[name].add(node.attr)
    return found


def list_expressions(
    paths: Sequence[Path],
    made: dict[str, tuple[str, Callable[[], list[re.Pattern[Any]]]]],
) -> tuple[list[Expression], list[str]]:
    """Return all expressions, and the places of those that cannot be found.

    Args:
        paths: modules of the package.
        made: place -> by which methods the expressions that a function there writes are called,
            and what makes examples of them.
    """
    methods = find_methods(paths)
    found, unknown = [], []
    for place, module, name, call, method in find_sites(paths):
        if patterns := _find_patterns(module, name, call):
            ways = {method} & METHODS or methods.get(name) or METHODS
        elif place in made:
            words, make = made[place]
            patterns, ways = make(), set(words.split())
        else:
            unknown.append(place)
            continue
        found += [
            Expression(place, each, way) for each in patterns for way in sorted(ways)
        ]
    return list(dict.fromkeys(found)), unknown


def leave_out_alike(expressions: dict[str, Expression]) -> dict[str, Expression]:
    """Leave out the calls of an expression that can take no longer than another call of it.

    All searches try each place up to the end; a match tries the first of these places.
    """
    searched: set[re.Pattern[Any]] = set()
    kept = {}
    for name, each in sorted(
        expressions.items(), key=lambda item: item[1].method not in SEARCHES
    ):
        if each.pattern not in searched:
            kept[name] = each
        if each.method in SEARCHES:
            searched.add(each.pattern)
    return kept


def _find_patterns(module: str, name: str, call: ast.Call) -> list[re.Pattern[Any]]:
    if name and isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
        return _flatten(getattr(importlib.import_module(module), name))
    text, *rest = call.args
    if not isinstance(text, ast.Constant):
        return []
    flags = [key.value for key in call.keywords if key.arg == "flags"]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
        flags += rest[:1]
    value = eval(ast.unparse(flags[0]), {"re": re}) if flags else 0  # noqa: S307 (our own source)
    return [re.compile(text.value, value)]


def _flatten(value: object) -> list[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return (
        [each for one in value for each in _flatten(one)]
        if isinstance(value, tuple)
        else []
    )


# -- what is hard for them

_COMMON = " \n\ta1Z<>\"'=/&;:-.,%#?@*[]\u00e9\u2028\x00"
_LONG_REPEAT = 30
_FEW_UNITS, _MOST_UNITS = 4, 24
_MOST_WAYS = 12
_ENDS = ("", "\x00", "\n", "<")


def write_texts(
    pattern: re.Pattern[Any], *, thorough: bool
) -> Iterator[Callable[[int], str]]:
    """Yield what writes texts of any size that are hard for an expression.

    Each repeats what a repetition in it, or all of it, may consist of: behind what must stand
    before it, with it, and by itself, with several ends.
    """
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    tree = parser.parse(text, pattern.flags)
    pool = "".join(dict.fromkeys([*_literals(tree), *_COMMON]))
    seen: set[tuple[str, str, str]] = set()
    for prefix, units in _find_repeats(tree, "", pool):
        for unit in units[: _MOST_UNITS if thorough else _FEW_UNITS]:
            ends = _ENDS if thorough else _ENDS[:2]
            for shape in [
                ("", prefix + unit, ""),
                *((prefix, unit, end) for end in ends),
            ]:
                if shape[1] and shape not in seen:
                    seen.add(shape)
                    yield lambda size, shape=shape: _write(shape, size)  # type: ignore[misc]
    for char in pool:
        shape = ("", char, "")
        if shape not in seen:
            yield lambda size, shape=shape: _write(shape, size)  # type: ignore[misc]


def _write(shape: tuple[str, str, str], size: int) -> str:
    prefix, unit, end = shape
    return prefix + unit * max(1, size // len(unit)) + end


def _literals(tree: Any) -> Iterator[str]:
    for kind, value in tree:
        if kind in (kinds.LITERAL, kinds.NOT_LITERAL):
            yield chr(value)
        elif kind is kinds.IN:
            for one, what in value:
                if one is kinds.LITERAL:
                    yield chr(what)
                elif one is kinds.RANGE:
                    yield chr(what[0])
        else:
            for part in _parts(kind, value):
                yield from _literals(part)


def _parts(kind: Any, value: Any) -> list[Any]:
    """Return the sequences inside of a node."""
    if kind is kinds.BRANCH:
        return list(value[1])
    if kind is kinds.SUBPATTERN:
        return [value[3]]
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        return [value[2]]
    if kind in (kinds.ASSERT, kinds.ASSERT_NOT):
        return [value[1]]
    if kind is kinds.ATOMIC_GROUP:
        return [value]
    if kind is kinds.GROUPREF_EXISTS:
        return [part for part in value[1:] if part is not None]
    return []


def _find_repeats(tree: Any, before: str, pool: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each long repetition: what stands before it, and what it may repeat."""
    for kind, value in tree:
        is_repeat = kind in (
            kinds.MAX_REPEAT,
            kinds.MIN_REPEAT,
            kinds.POSSESSIVE_REPEAT,
        )
        if is_repeat and value[1] >= _LONG_REPEAT:
            units = _samples(value[2], pool)
            yield before, units
            whole = (
                before + (units[0] if units else "") + (_samples(tree, pool) or [""])[0]
            )
            yield "", [whole]
        for part in _parts(kind, value):
            yield from _find_repeats(part, before, pool)
        if kind is not kinds.ASSERT_NOT:
            before += (_samples([(kind, value)], pool) or [""])[0]
    yield "", [before]


def _samples(tree: Any, pool: str) -> list[str]:
    """Return texts that a sequence may match: each way of each of its parts once."""
    columns = [_samples_of(kind, value, pool) for kind, value in tree]
    firsts = [column[0] for column in columns]
    found = ["".join(firsts)]
    for place, column in enumerate(columns):
        found += [
            "".join([*firsts[:place], other, *firsts[place + 1 :]])
            for other in column[1:_MOST_WAYS]
        ]
    return list(dict.fromkeys(found))


def _samples_of(kind: Any, value: Any, pool: str) -> list[str]:
    if kind in (kinds.LITERAL, kinds.NOT_LITERAL, kinds.IN, kinds.ANY):
        one = _find_test(kind, value)
        chars = [char for char in pool if one(char)]
        return chars or [chr(value) if kind is kinds.LITERAL else "a"]
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        least, _, part = value
        samples = [each * max(least, 1) for each in _samples(part, pool)]
        return samples if least else [*samples, ""]
    if kind in (kinds.ASSERT_NOT, kinds.ASSERT, kinds.AT, kinds.GROUPREF):
        return [""]
    return [each for part in _parts(kind, value) for each in _samples(part, pool)] or [
        ""
    ]


@cache
def _categories() -> dict[Any, re.Pattern[str]]:
    return {
        kinds.CATEGORY_DIGIT: re.compile(r"\d"),
        kinds.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
        kinds.CATEGORY_SPACE: re.compile(r"\s"),
        kinds.CATEGORY_NOT_SPACE: re.compile(r"\S"),
        kinds.CATEGORY_WORD: re.compile(r"\w"),
        kinds.CATEGORY_NOT_WORD: re.compile(r"\W"),
    }


def _find_test(kind: Any, value: Any) -> Callable[[str], bool]:
    """Return what tells whether a character is one that a node matches."""
    if kind is kinds.LITERAL:
        return lambda char: ord(char) == value
    if kind is kinds.NOT_LITERAL:
        return lambda char: ord(char) != value
    if kind is kinds.ANY:
        return lambda char: char != "\n"

    def is_in(char: str) -> bool:
        is_found = is_negated = False
        for one, what in value:
            if one is kinds.NEGATE:
                is_negated = True
            elif one is kinds.LITERAL:
                is_found |= ord(char) == what
            elif one is kinds.RANGE:
                is_found |= what[0] <= ord(char) <= what[1]
            elif one is kinds.CATEGORY:
                is_found |= _categories()[what].match(char) is not None
        return is_found != is_negated

    return is_in
