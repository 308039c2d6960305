"""The database of an audit, and what fills it: the walk, known URLs, robots.txt."""
