"""Recipes: this package inside other people's crawlers, short enough to copy.

| module | needs the extra | what it is |
|---|---|---|
| `recipes.scrapy` | `scrapy` | `SitemapReaderSpider`, replaces SitemapSpider |
| `recipes.indexnow` | | `submit_changes`: new, changed and gone URLs, for search engines |

`docs/crawlers.md` has a crawler on asyncio and the requests for Crawlee; `docs/migrating.md` maps
other sitemap tools to this package.
"""
