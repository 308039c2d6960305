"""Fetching and reading one document within the walk's budget, with an outcome for each.

Discovery reads the beginning of a document, a walk all of it; both use this package.
"""
