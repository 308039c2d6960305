"""Findings ranked by severity, then by how much of the site they touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.models import FOREMOST, Category

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.audit.models import Facts, Finding

_OF_SITEMAPS = ("sitemaps", "indexes")
"""Units that stand for the URLs in them."""
_NOT_READ = frozenset({"failed", "partial", "skipped"})


def rank_findings(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """Return findings by severity, and by the share of the URLs that they touch."""
    urls = {document.url: document.urls for document in facts.documents}
    unread = {document.url for document in facts.documents if document.status in _NOT_READ}

    def touched(finding: Finding) -> float:
        if finding.rate is not None:
            return finding.rate.share
        if finding.of and finding.rule.unit not in _OF_SITEMAPS:
            return finding.count / finding.of
        is_read = finding.rule.category is Category.READING
        documents = {place.document for place in finding.places}
        if not facts.urls or (is_read and (not documents or not documents.isdisjoint(unread))):
            return 1.0  # nobody knows how much is in what was not read
        if not documents or (is_read and any(example.url for example in finding.examples)):
            return finding.count / facts.urls
        return sum(urls.get(document, 0) for document in documents) / facts.urls

    return sorted(
        findings,
        key=lambda each: (-each.severity, each.code != FOREMOST, -min(touched(each), 1.0)),
    )
