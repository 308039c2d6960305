"""robots.txt (RFC 9309): bytes in, a `Robots` out; nothing here fetches.

`parser` reads the lines, `rules` holds the result and answers `can_fetch`, and `rule_index` judges
sites with many rules in bounded time. Only `rules` touches protego.
"""
