"""The formats of an audit: one module each, with a function `format_audit`.

```python
def format_audit(findings: Sequence[Finding], facts: Facts) -> str: ...
```
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.audit.models import AuditInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.audit.models import Facts, Finding

FORMATS = ("text", "json", "sarif", "html")
"""Names of the formats, each the module of this package that makes it."""
SUFFIXES = {".txt": "text", ".json": "json", ".sarif": "sarif", ".html": "html", ".htm": "html"}
"""Suffix of a file -> the format that it names."""
HITS_SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")
"""Suffixes of a file of all hits; all but the first also with .gz behind them."""


def format_audit(name: str, findings: Sequence[Finding], facts: Facts) -> str:
    """Return the text of an audit in one of `FORMATS`.

    Args:
        name: the format.
        findings: the gravest first.
        facts: what was audited.
    """
    text: str = import_module(f"{__name__}.{name}").format_audit(findings, facts)
    return text


def find_audit_format(path: str) -> str:
    """Return the format by a file's suffix; raise ValueError for an unknown suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise AuditInputError(
            f"the name {path!r} does not say which format is meant: "
            f"end it with {', '.join(SUFFIXES)}"
        )
    return SUFFIXES[suffix]


def find_hits_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix that names the format; raise AuditInputError for another one."""
    name = os.fspath(path).lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in HITS_SUFFIXES or name.endswith(".parquet.gz"):
        raise AuditInputError(f"hits: end the name of {name!r} with {', '.join(HITS_SUFFIXES)}")
    return suffix
