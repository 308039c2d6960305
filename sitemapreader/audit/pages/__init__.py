"""Pages in an audit: which are visited, and how sure their rates are."""
