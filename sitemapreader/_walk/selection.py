"""Selection: which entries of a walk are delivered, checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Literal, TypeAlias

import attrs
from attrs.converters import optional

from sitemapreader._types.arguments import Sample
from sitemapreader._types.dates import as_since, as_until
from sitemapreader._types.fields import check_flag, one_of
from sitemapreader._types.patterns import compile_pattern

Undated: TypeAlias = Literal["keep", "drop"]
"""Treatment of entries without a date by `since` and `until`."""
Scope: TypeAlias = Literal["keep", "drop"]
"""Treatment of entries outside the folder of their sitemap."""
Patterns: TypeAlias = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]
"""One or several regular expressions, each searched for in a URL; or globs such as "/blog/*"."""
_Compiled: TypeAlias = tuple[re.Pattern[str], ...]


def _patterns(values: Patterns) -> _Compiled:
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (_pattern(values),)
    return tuple(map(_pattern, values))


def _describe(patterns: _Compiled) -> list[tuple[str, int]]:
    return [(each.pattern, each.flags) for each in patterns]


def _pattern(value: str | re.Pattern[str]) -> re.Pattern[str]:
    if isinstance(value, re.Pattern):
        text = value.pattern
    else:
        text = value
    if not isinstance(text, str):
        raise TypeError(
            f"include and exclude must be regular expressions for text, got {value!r}: "
            r"write include=r'/blog/' or include=[r'/blog/', r'\.html$'], "
            "and call functions inside the loop"
        )
    return value if isinstance(value, re.Pattern) else compile_pattern(value)


_LANGUAGE = re.compile(r"([a-z]{2,3}|x)([-_][a-z0-9]{1,8})*", re.IGNORECASE | re.ASCII)
"""RFC 5646, section 2.1; no language of more than three letters is registered."""


def _languages(values: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        values = values.split(",")
    codes = tuple(values)
    if codes == ("",):
        return ()
    for code in codes:
        if not _LANGUAGE.fullmatch(str(code)):
            raise ValueError(
                f"`language` must have codes such as en or pt-BR, got {code!r}"
            )
    return tuple(code.lower().replace("_", "-") for code in codes)


def _sample(value: int | Sample) -> Sample:
    if isinstance(value, Sample):
        return value
    return Sample(value)


@attrs.frozen(kw_only=True, eq=False)
class Selection:
    """The filters of a walk; each works only if the caller sets it: see `walk`.

    Raises TypeError or ValueError for arguments that make no sense.
    """

    since: datetime | None = attrs.field(default=None, converter=optional(as_since))
    until: datetime | None = attrs.field(default=None, converter=optional(as_until))
    undated: Undated = attrs.field(default="keep", validator=one_of(Undated))
    include: _Compiled = attrs.field(default=(), converter=_patterns)
    exclude: _Compiled = attrs.field(default=(), converter=_patterns)
    language: tuple[str, ...] = attrs.field(default=(), converter=_languages)
    unique: bool = attrs.field(default=False, validator=check_flag)
    scope: Scope = attrs.field(default="keep", validator=one_of(Scope))
    sample: Sample | None = attrs.field(default=None, converter=optional(_sample))

    def mark_filters(self, folders: Iterable[str]) -> str:
        """Return the filters of a document as text: `since`, and a hash of all others.

        `folders` are its proven scope. A document that has not changed stays unread only if all
        entries that pass now were delivered before: if no filter kept any of them back then, or if
        it had the same filters (docs/state.md).
        """
        scope = None
        if self.scope == "drop":
            scope = sorted(folders)
        parts = (
            self.until,
            self.undated,
            _describe(self.include),
            _describe(self.exclude),
            scope,
            self.unique,
            self.language,
        )
        text = repr(parts).encode("utf-8", "surrogatepass")
        digest = blake2b(text, digest_size=16).hexdigest()
        since = ""
        if self.since:
            # all of one length, so that texts compare as the moments do
            since = self.since.astimezone(UTC).isoformat(timespec="microseconds")
        return f"{since} {digest}"
