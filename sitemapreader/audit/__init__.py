"""Sitemaps judged by rules: findings for CI and a report. Needs the extra `audit`.

```python
from sitemapreader.audit import audit_sync

with audit_sync("https://example.org/") as result:
    for finding in result.findings:
        print(finding.rule.code, finding.severity, finding.count)
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sitemapreader._types.errors import name_extra
from sitemapreader.audit.compare import compare_audits
from sitemapreader.audit.models import AuditOptions, RuleSettings
from sitemapreader.audit.values import (
    Difference,
    Facts,
    Finding,
    ListDifference,
    Rate,
    Trend,
)

if TYPE_CHECKING:
    from sitemapreader.audit.api import audit, audit_sync
    from sitemapreader.audit.lists import compare_lists
    from sitemapreader.audit.result import Audit

__all__ = [
    "Audit",
    "AuditOptions",
    "Difference",
    "Facts",
    "Finding",
    "ListDifference",
    "Rate",
    "RuleSettings",
    "Trend",
    "audit",
    "audit_sync",
    "compare_audits",
    "compare_lists",
]


_LAZY_NAMES = {
    "Audit": "result",
    "audit": "api",
    "audit_sync": "api",
    "compare_lists": "lists",
}
"""Public name -> the module that it is loaded from when it is first used."""


def __getattr__(name: str) -> Any:
    """Load the modules that need DuckDB on first use (PEP 562): a list of the rules needs none."""
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with name_extra("an audit needs", "audit"):
        return getattr(import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
