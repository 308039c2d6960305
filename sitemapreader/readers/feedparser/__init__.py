"""The last resort for feeds beyond repair: feedparser in a child process.

`fallback` keeps a document that may need it, starts the process, and accepts only links that stand
in the document. `worker` is the script of that process; nothing else may import feedparser.
"""
