"""HTML pages: text in, entries or hints out; nothing is fetched.

`links` finds the sitemaps that a page or a `Link:` header names, and reads HTML site maps. `markup`
scans HTML for them, and for the `facts` of a page.
"""
