"""Fetching and reading one document within the walk's budget, with its outcome.

Discovery reads the beginning of a document, a walk all of it; both use this package.
"""
