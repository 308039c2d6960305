"""An audit in any format: text, Markdown, JUnit and HTML are templates."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import defaultdict
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.counts import count_units, inflect
from sitemapreader._types.errors import name_extra
from sitemapreader._types.issues import Severity, excerpt
from sitemapreader._types.urls import host_of
from sitemapreader.audit import report as words
from sitemapreader.audit.models import AuditInputError
from sitemapreader.audit.report.outcome import find_outcome
from sitemapreader.audit.report.sarif import format_sarif
from sitemapreader.audit.values import Month

with name_extra("a report needs", "audit"):
    from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sitemapreader.audit.values import AuditReport, DocumentFacts, Facts, Hit


_TEMPLATES = {
    "text": "text.j2",
    "markdown": "markdown.j2",
    "junit": "junit.xml.j2",
    "html": "report.html.j2",
}
"""Format -> its template."""
MAX_MARKDOWN_CHARS = 60_000
"""GitHub takes 65,536 in a comment."""
_OLD_COLUMNS = (
    "folder",
    "judged",
    "lost",
    "to start",
    "temporary",
    "unlisted",
    "noindex",
    "alive",
    "failed",
)
"""Columns about the folders of an old site, in the order of their rows."""


def format_audit(
    name: str,
    audit: AuditReport,
    fail_on: Severity | None = Severity.ERROR,
    *,
    title: str = "",
) -> str:
    """Return an audit in a format; raise AuditInputError.

    In JUnit, findings of `fail_on` and above fail. HTML and Markdown have a `title`.
    """
    if name not in words.REPORT_FORMATS:
        formats = ", ".join(words.REPORT_FORMATS)
        raise AuditInputError(f"there is no format {name!r}: choose from {formats}")
    if name == "json":
        # ASCII: it may be shown in a terminal
        return json.dumps(audit.describe(), indent=2) + "\n"
    findings = audit.findings
    facts = audit.facts
    least = None if fail_on is None else fail_on.name.lower()
    outcome = find_outcome(findings, facts, fail_on)
    if name == "sarif":
        return format_sarif(audit, outcome)
    text = (
        _load_environment()
        .get_template(_TEMPLATES[name])
        .render(
            findings=findings,
            facts=facts,
            outcome=outcome,
            source=words.show_source(facts),
            title=" ".join(title.split()),
            fails=[
                each.rule.code for each in findings if words.is_failure(each, least)
            ],
            counts=words.count_findings(findings),
            bounds=list(words.find_bounds(facts)),
            known=words.show_known(findings, facts),
            old_columns=_OLD_COLUMNS,
        )
    )
    if name != "markdown":
        return text
    kept, *details = re.split(r"\n(?=## )", text)
    for number, detail in enumerate(details):
        if len(kept) + len(detail) >= MAX_MARKDOWN_CHARS:
            left = count_units(len(details) - number, "more findings")
            left = f"The details of {left} are left out here."
            return f"{kept}\n\n{left}\n"
        kept += f"\n{detail}"
    return kept


def _read_template_part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _load_environment() -> Environment:
    """Return the environment of the templates, which escapes every foreign text."""
    environment = Environment(
        autoescape=select_autoescape(("html.j2", "xml.j2"), default=False),
        loader=FunctionLoader(_read_template_part),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # SECURITY: it is called with each value that a template writes, before that is escaped,
        # so no control or bidi character and no endless URL can be forgotten.
        finalize=_make_harmless,
    )
    environment.filters |= {
        "number": lambda count: f"{count:,}",
        "units": count_units,
        "noun": inflect,
        "extent": words.show_extent,
        "hits": words.show_hits,
        "categories": words.group_rules,
        "shown": words.choose_examples,
        "code": words.write_code,
        "columns": _align_columns,
        "place": _show_place,
        "cells": attrs.astuple,
        "moment": _show_moment,
        "kibibytes": lambda count: f"{count / 1024:,.1f}",
        "host": _show_host,
        "years": _group_years,
    }
    environment.globals |= {
        "grades": words.GRADES,
        "share": words.show_share,
        "rate": words.show_rate,
        "faulty": words.show_faulty,
        "weights": words.WEIGHTS,
        "shorten": _shorten_url,
        "asset": _read_asset,
    }
    environment.tests["probe"] = _is_failed_probe
    return environment


def _make_harmless(value: Any) -> Any:
    """Cut and escape a text that is not markup; write a position with two digits."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, str) and not isinstance(value, Markup):
        return excerpt(value, words.MAX_TEXT)
    return value


def _read_asset(name: str) -> tuple[Markup, str]:
    """Return a style or script of ours, and its hash for the CSP."""
    text = _read_template_part(name)
    digest = b64encode(sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"  # noqa: S704 (a file of this package)


def _align_columns(row: Sequence[Any]) -> str:
    """Return a line of a table: a name, and numbers below each other."""
    name, *counts = row
    return f"{excerpt(name, 50):<50}" + "".join(f"{count:>11}" for count in counts)


def _show_place(hit: Hit, facts: Facts) -> str:
    """Return the file and the line of a hit, or of the sitemap that lists it; "" on a server."""
    name = hit.file
    line = hit.file_line
    if not name and hit.url and hit.url != hit.document:
        name = facts.files.get(hit.document, "")
        line = hit.line
    if not name:
        return ""
    return f"{name}, line {line}" if line else name


def _show_moment(moment: str) -> str:
    """Write a moment as people do: "22 November 2026, 04:30 UTC"."""
    return (
        f"{datetime.fromisoformat(moment).astimezone(UTC):%d %B %Y, %H:%M UTC}".lstrip(
            "0"
        )
    )


def _show_host(source: str) -> str:
    """Return the host of a source that may be a link, or ""."""
    if source.startswith(("http://", "https://")):
        return host_of(source)
    return ""


def _shorten_url(url: str, origin: str) -> str:
    """Return the path of a URL of the main origin, and any other URL as it is."""
    path = url.removeprefix(origin) if origin else url
    return path if path.startswith("/") else url


def _is_failed_probe(document: DocumentFacts) -> bool:
    """Return whether a well-known path that nobody listed had no sitemap."""
    is_unlisted = document.role == "sitemap" and not document.parent
    return is_unlisted and document.status == "skipped" and not document.format


def _group_years(months: Iterable[Month]) -> dict[str, dict[int, Month]]:
    """Return months by their year, the latest first, and their number in it."""
    years = defaultdict[str, dict[int, Month]](dict)
    for month in sorted(months, key=attrgetter("month"), reverse=True):
        year, number, _ = month.month.split("-")
        years[year][int(number)] = month
    return years
