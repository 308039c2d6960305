"""Sitemaps judged by rules: findings for CI, and a report to look at (the extra `audit`)."""
