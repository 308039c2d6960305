# /// script
# dependencies = ["sitemapreader[audit,pandas]"]
# ///
"""What a site lists, folder by folder, and what an audit finds.

python seo.py example.org findings.csv
"""

import sys

import pandas as pd

from sitemapreader.audit import audit_sync
from sitemapreader.tables import to_dataframe


def summarize(site):
    """Return a row for each folder of a site: URLs, share without lastmod, newest lastmod."""
    urls = to_dataframe(site)
    urls["folder"] = urls["loc"].str.extract(r"^[^/]*//[^/]+(/[^/]+/|/)", expand=False)
    by_folder = urls.groupby("folder")
    table = by_folder.agg(urls=("loc", "size"), newest=("lastmod", "max"))
    table["undated"] = by_folder["lastmod"].apply(lambda dates: dates.isna().mean())
    return table.sort_values("urls", ascending=False)


def list_findings(site):
    """Return a row for each finding of an audit, the gravest first."""
    with audit_sync(site) as audit:
        rows = [
            {
                "severity": finding.severity,
                "rule": finding.rule.code,
                "finding": finding.rule.title,
                "count": finding.count,
                "example": finding.examples[0].url if finding.examples else "",
                "what to do": finding.rule.advice,
            }
            for finding in audit.findings
        ]
    return pd.DataFrame(rows)


if __name__ == "__main__":
    site, file = sys.argv[1:]
    print(summarize(site).head(20).to_string())
    findings = list_findings(site)
    findings.to_csv(file, index=False)
    print(f"{len(findings)} findings: {file}")
