"""Walks: every URL of a site's sitemaps as a stream, with a report. Nothing here is remembered."""
