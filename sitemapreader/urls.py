"""URLs as this package compares them: their key, origin, host and registrable domain."""

from sitemapreader._types.urls import host_of, origin_of, site_of, url_key

__all__ = ["host_of", "origin_of", "site_of", "url_key"]
