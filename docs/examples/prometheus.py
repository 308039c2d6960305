# /// script
# dependencies = ["prometheus-client", "sitemapreader"]
# ///
"""Metrics of a walk, for Prometheus: a file for the node exporter's textfile collector.

    python prometheus.py example.org /var/lib/node_exporter/sitemaps.prom

A service calls `start_http_server` in place of `write_to_textfile`.
"""

import sys
import time

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    write_to_textfile,
)

from sitemapreader import walk_sync

REGISTRY = CollectorRegistry()
DOCUMENTS = Counter(
    "sitemap_documents",
    "documents, by their outcome",
    ["status", "reason"],
    registry=REGISTRY,
)
BYTES = Counter("sitemap_bytes", "bytes over the wire", registry=REGISTRY)
SECONDS = Histogram(
    "sitemap_first_byte_seconds",
    "time of a server to begin its response",
    registry=REGISTRY,
)
URLS = Gauge("sitemap_urls", "URLs that the site lists", registry=REGISTRY)
COMPLETE = Gauge(
    "sitemap_complete", "1 if every sitemap was read to its end", registry=REGISTRY
)
NEWEST = Gauge("sitemap_last_run_seconds", "time of the last run", registry=REGISTRY)


def observe(document):
    """Count a document when its outcome is known."""
    DOCUMENTS.labels(document.status.value, document.reason).inc()
    BYTES.inc(document.bytes_raw)
    if document.first_byte_seconds is not None:
        SECONDS.observe(document.first_byte_seconds)


def measure(site):
    """Walk over a site, and set the metrics."""
    with walk_sync(site, on_document=observe) as entries:
        for _ in entries.batches():
            pass
    URLS.set(entries.report.entries)
    COMPLETE.set(entries.report.complete)
    NEWEST.set(time.time())


if __name__ == "__main__":
    site, file = sys.argv[1:]
    measure(site)
    write_to_textfile(file, REGISTRY)
