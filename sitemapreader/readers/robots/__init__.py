"""robots.txt: its rules, its sitemaps, and the lines that are neither."""
