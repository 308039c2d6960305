"""The HTML report: what its charts and tables show, its template, style and script.

Modules here turn facts into numbers and words; only the template writes markup, so that one
setting of jinja2 escapes all texts of strangers.
"""
