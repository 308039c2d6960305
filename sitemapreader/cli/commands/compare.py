"""`sitemapreader compare`: what became of the findings of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.compare import Trend, compare_audits, format_differences
from sitemapreader.audit.models import AuditInputError
from sitemapreader.cli.parser import ALL_READ, FOUND, UsageError
from sitemapreader.cli.runtime import print_text
from sitemapreader.issues import Severity

if TYPE_CHECKING:
    import argparse


def run_compare(arguments: argparse.Namespace) -> int:
    """Print the differences; return whether some are grave enough."""
    try:
        differences = compare_audits(arguments.before, arguments.after)
    except AuditInputError as error:
        raise UsageError(str(error)) from None
    code = print_text(format_differences(arguments.format, differences))
    if code != ALL_READ or arguments.fail_on == "never":
        return code
    least = Severity[arguments.fail_on.upper()]
    is_worse = any(
        each.trend in (Trend.NEW, Trend.WORSE) and each.severity >= least for each in differences
    )
    return FOUND if is_worse else ALL_READ
