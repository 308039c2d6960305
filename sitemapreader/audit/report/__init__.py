"""The HTML report: its charts and tables, its template, style and script.

Modules here turn facts into numbers and words; only the template writes markup, so that one
setting of jinja2 escapes all texts of strangers.
"""
