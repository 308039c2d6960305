"""A site's URLs as a table: of pandas, of Arrow, and through Arrow of whatever reads that."""
