"""Recipes: this package inside other people's crawlers, short enough to copy.

| module | needs the extra | what it is |
|---|---|---|
| `recipes.scrapy` | `scrapy` | `SitemapReaderSpider`, replaces SitemapSpider |
| `recipes.crawlee` | `crawlee` | a request loader, replaces SitemapRequestLoader |
| `recipes.indexnow` | | `submit_changes`: new, changed and removed URLs, for search engines |
| `recipes.crawler` | | `crawl`, a crawler on asyncio |

`docs/migrating.md` maps ultimate-sitemap-parser, advertools and Scrapy's own sitemap tools to this
package.
"""
