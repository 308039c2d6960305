"""The table of codes: all rules, Issues included, and the selection among them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from sitemapreader.audit.judging.reasons import ABOUT_US, CHANGED, KNOWN_AS, MEANINGS
from sitemapreader.audit.judging.rule_files import load_rules
from sitemapreader.audit.models import AuditInputError, AuditRule, Category, Need
from sitemapreader.issues import IssueCode, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_PROTOCOL = "https://www.sitemaps.org/protocol.html"
_ROBOTS = "https://www.rfc-editor.org/rfc/rfc9309"
_NOT_ACCUSED = "This says what was not read, and why; the site is not accused."
_OF_ANSWERS = frozenset(
    {
        IssueCode.CONTENT_ENCODING,
        IssueCode.WRONG_CONTENT_ENCODING,
        IssueCode.TLS,
        IssueCode.BAD_HTTP,
        IssueCode.SITEMAP_WITH_ERROR_STATUS,
        IssueCode.REDIRECT_LOOP,
        IssueCode.TOO_MANY_REDIRECTS,
        IssueCode.DOWNGRADE,
        IssueCode.SITE_MOVED,
        IssueCode.USERINFO_REMOVED,
        IssueCode.ROBOTS_UNREACHABLE,
    }
)
"""Issues that only an answer of a server can have."""
_OF_ROBOTS = frozenset(
    {IssueCode.ROBOTS_NOT_TEXT, IssueCode.ROBOTS_TOO_LARGE, IssueCode.ROBOTS_TOO_COMPLEX}
)


def make_issue_rule(code: IssueCode) -> AuditRule:
    """Return the rule for an Issue code."""
    is_about_us = code in ABOUT_US
    severity = Severity.INFO if is_about_us else CHANGED.get(code, code.severity)
    needs = (Need.FETCH,) * (code in _OF_ANSWERS) + (Need.ROBOTS,) * (code in _OF_ROBOTS)
    detects = f"{code.meaning[0].upper()}{code.meaning[1:]}."
    if code is IssueCode.EMPTY:
        detects += " Only children of an index are meant, and no news."
    return AuditRule(
        code=str(code),
        category=Category.READING,
        severity=severity,
        title=f"{code.meaning[0].upper()}{code.meaning[1:]}",
        unit="places",
        detects=detects,
        meaning=MEANINGS.get(code, _NOT_ACCUSED if is_about_us else _MEANINGS[severity]),
        advice=f"{code.advice[0].upper()}{code.advice[1:]}.",
        sources=(_ROBOTS if "robots" in code else _PROTOCOL,),
        needs=needs,
        known_as=KNOWN_AS.get(code, ""),
    )


_MEANINGS = {
    Severity.ERROR: "Search engines lose something by it, or refuse the sitemap.",
    Severity.WARNING: "Other readers may lose something by it; this one repaired it.",
    Severity.INFO: "It costs nothing, and shows that the generator could take more care.",
}


def list_rules(own: Iterable[AuditRule] = ()) -> dict[str, AuditRule]:
    """Return all rules by code: Issues, the package's rules and the user's."""
    issues = map(make_issue_rule, IssueCode)
    return {rule.code: rule for rule in (*issues, *(each.rule for each in load_rules()), *own)}


def select_rules(
    rules: Mapping[str, AuditRule], select: Sequence[str], ignore: Sequence[str]
) -> dict[str, AuditRule]:
    """Return the selected rules (all by default) without the ignored ones.

    Args:
        rules: all of them.
        select: codes, categories, or prefixes that end with `*`.
        ignore: the same; it wins.

    Raises:
        AuditInputError: a word is none of these; the nearest known one is named.
    """
    selected = set().union(*(match_codes(rules, word) for word in select)) if select else set(rules)
    ignored = set().union(*(match_codes(rules, word) for word in ignore))
    return {code: rule for code, rule in rules.items() if code in selected - ignored}


def match_codes(rules: Mapping[str, AuditRule], word: str) -> set[str]:
    """Return the codes that a word means; raise AuditInputError if there is none."""
    if word in rules:
        return {word}
    if word.endswith("*"):
        found = {code for code in rules if code.startswith(word[:-1])}
    else:
        found = {code for code, rule in rules.items() if rule.category.lower() == word.lower()}
    if not found:
        categories = [category.lower() for category in Category]
        hint = suggest_word(word, [*rules, *categories])
        raise AuditInputError(f"there is no rule, category or prefix {word!r}{hint}")
    return found


def suggest_word(word: str, known: Iterable[str]) -> str:
    """Return words that name the known one that is nearest, or how to list all."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    if close:
        return f": did you mean {close[0]!r}?"
    return ": `sitemapreader audit --list-rules` lists all codes"
