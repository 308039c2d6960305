"""A server for agents by the Model Context Protocol: `sitemapreader mcp`.

An agent calls tools: the sitemaps of a site, its URLs, their changes, an audit. It may be fooled by
what it reads, so a call can do little: it reaches public addresses only, opens no file, and gets
bounded answers in which nothing but URLs and titles was written by strangers.
"""
