"""Reading urlsets, sitemap indexes, RSS and Atom."""
