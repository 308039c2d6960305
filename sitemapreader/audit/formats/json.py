"""An audit as JSON, for programs; docs/audit.md describes it."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.issues import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.audit.models import Facts, Finding

SCHEMA = 1
"""Raised when a key is renamed, removed or changes its meaning; not for a new one."""


def format_audit(findings: Sequence[Finding], facts: Facts) -> str:
    """Return one JSON object: findings, and facts."""
    content = {
        "schema": SCHEMA,
        "findings": [attrs.asdict(finding, value_serializer=_plain) for finding in findings],
        "facts": attrs.asdict(facts, value_serializer=_plain),
    }
    return json.dumps(content, indent=2) + "\n"  # ASCII: it may be shown in a terminal


def _plain(_owner: Any, _field: Any, value: Any) -> Any:
    if isinstance(value, Severity):
        return value.name.lower()
    return value.isoformat() if isinstance(value, date) else value
