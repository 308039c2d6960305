"""HTML pages and llms.txt: text in, entries or hints out; nothing is fetched.

`site_maps` and `llms` read documents whose links are entries (formats that the caller must ask
for). `hints` finds the sitemaps that a page or a `Link:` header names. `tags` scans HTML for both.
"""
