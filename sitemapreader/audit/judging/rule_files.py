"""Files of rules: a header of comments and one SELECT of url, detail, document."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from sitemapreader.audit.models import AuditInputError, AuditRule, Category, Need
from sitemapreader.issues import Severity

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

_CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_HEADER_LINE = re.compile(r"--(?: (?P<key>[a-z][a-z-]*):(?=\s|$))?\s*(?P<text>.*)")
"""A key has one blank before it; a continuation line has more."""
_REQUIRED = ("title", "severity")
_KEYS = frozenset(
    {
        *_REQUIRED,
        *("unit", "needs", "detects", "meaning", "advice", "source", "search-console"),
    }
)
_PARAMETER = re.compile(r"\$([a-z_]+)")
_PREDICATE = re.compile(
    r"\s*SELECT loc AS url, .* AS detail, document"
    r"\s+FROM (?P<table>url|unusual_url)\s+WHERE (?P<where>.*)",
    re.DOTALL,
)


class RuleFileError(AuditInputError):
    """The file of a rule has no header, or an unknown word in it."""


@attrs.frozen
class SqlRule:
    """A rule with its query.

    Attributes:
        rule: what the header says.
        query: the SELECT.
        table: where its URLs are, if it looks at each of them by itself.
        where: its condition, if so; many of these are answered by one scan.
    """

    rule: AuditRule
    query: str
    table: str = ""
    where: str = ""

    def choose_parameters(self, values: dict[str, object]) -> dict[str, object]:
        """Return those of the values that the query names."""
        return {name: values[name] for name in _PARAMETER.findall(self.query) if name in values}


def parse_rule(text: str, code: str, category: Category) -> SqlRule:
    """Parse the file of a rule; raise RuleFileError."""
    header: dict[str, list[str]] = {}
    lines = text.lstrip("\ufeff").splitlines()
    key = ""
    while lines and (match := _HEADER_LINE.fullmatch(lines[0])):
        del lines[0]
        key = match["key"] or key
        header.setdefault(key, []).append(match["text"].strip())
    values = {key: " ".join(parts) for key, parts in header.items()}
    _check_header(values, code)
    query = "\n".join(lines).strip().rstrip(";")
    if not query:
        raise RuleFileError("there is no query below the header: write one SELECT")
    predicate = _PREDICATE.fullmatch(query)
    return SqlRule(
        AuditRule(
            code=code,
            category=category,
            severity=Severity[values["severity"].upper()],
            title=values["title"],
            unit=values.get("unit", "URLs"),
            detects=values.get("detects", ""),
            meaning=values.get("meaning", ""),
            advice=values.get("advice", ""),
            sources=_split(values.get("source", "")),
            needs=tuple(map(Need, _split(values.get("needs", "")))),
            known_as=values.get("search-console", ""),
        ),
        query,
        table=predicate["table"] if predicate else "",
        where=predicate["where"] if predicate else "",
    )


def _check_header(values: dict[str, str], code: str) -> None:
    if not _CODE.fullmatch(code):
        raise RuleFileError(
            f"{code!r} is not a valid code: name the file in lower case, as my-rule.sql"
        )
    for name in _REQUIRED:
        if not values.get(name):
            raise RuleFileError(f"the header has no {name}: begin the file with `-- {name}: ...`")
    for name in values.keys() - _KEYS - {""}:
        raise RuleFileError(f"{name!r} is not a header key: use {', '.join(sorted(_KEYS))}")
    severities = [severity.name.lower() for severity in Severity]
    if values["severity"] not in severities:
        raise RuleFileError(
            f"{values['severity']!r} is not a severity: write {', '.join(severities)}"
        )
    for need in _split(values.get("needs", "")):
        if need not in set(Need):
            raise RuleFileError(f"unknown need {need!r}: write {', '.join(Need)}")


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@cache
def load_rules() -> tuple[SqlRule, ...]:
    """Return the rules of the package, by category and code."""
    root = files("sitemapreader.audit").joinpath("rules")
    by_folder = {category.name.lower(): category for category in Category}
    rules = [
        parse_rule(file.read_text("utf-8"), file.name.removesuffix(".sql"), by_folder[folder.name])
        for folder in root.iterdir()
        for file in _sql_files(folder)
    ]
    order = list(Category)
    return tuple(sorted(rules, key=lambda each: (order.index(each.rule.category), each.rule.code)))


def _sql_files(folder: Traversable) -> Iterator[Traversable]:
    return (file for file in folder.iterdir() if file.name.endswith(".sql"))


def read_own_rules(folder: str | os.PathLike[str]) -> tuple[list[SqlRule], dict[str, str]]:
    """Read the rules of a folder of the user's own.

    Returns:
        the rules, and for each file that is none its code and what is wrong with it.

    Raises:
        AuditInputError: the folder cannot be read, or has no file that ends with .sql.
    """
    rules, broken = [], {}
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.suffix == ".sql")
    except OSError as error:
        raise AuditInputError(f"the rules in {folder} cannot be read: {error.strerror}") from None
    if not paths:
        raise AuditInputError(f"there is no rule in {folder}: its files must end with .sql")
    for path in paths:
        try:
            rules.append(parse_rule(path.read_text("utf-8"), path.stem, Category.CUSTOM))
        except (RuleFileError, OSError, UnicodeDecodeError) as error:
            broken[path.stem] = str(error)
    return rules, broken
