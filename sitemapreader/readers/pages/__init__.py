"""HTML pages and llms.txt: their links, and what they say of sitemaps."""
