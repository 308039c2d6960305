"""robots.txt (RFC 9309): bytes in, a `Robots` out; nothing here fetches.

`parser` reads the lines; `rules` holds the result, and asks protego whether a URL may be fetched.
"""
