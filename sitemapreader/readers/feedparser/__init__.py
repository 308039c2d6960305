"""The last resort for feeds: feedparser, in a process of its own."""
