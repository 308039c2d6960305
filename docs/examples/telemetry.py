# /// script
# dependencies = [
#     "opentelemetry-instrumentation-aiohttp-client",
#     "opentelemetry-sdk",
#     "sitemapreader",
# ]
# ///
"""Traces of a walk: a span for the walk, and below it one for each request.

    python telemetry.py example.org

The spans go to standard output. Take the exporter of your collector in place of that.
"""

import asyncio
import sys

from opentelemetry import trace
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from sitemapreader import walk


def set_up():
    """Have aiohttp's requests traced; call it before the first walk."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
    trace.set_tracer_provider(provider)
    AioHttpClientInstrumentor().instrument()


async def count_urls(site):
    """Walk over a site within a span, to which each document that is not complete is an event."""
    tracer = trace.get_tracer("sitemapreader")
    with tracer.start_as_current_span("walk", attributes={"site": site}) as span:

        def note(document):
            if document.is_lost:
                span.add_event(document.reason, {"sitemap": document.url})

        async with walk(site, on_document=note) as entries:
            async for _ in entries.batches():
                pass
        span.set_attribute("urls", entries.report.entries)
        span.set_attribute("complete", entries.report.complete)
    return entries.report.entries


if __name__ == "__main__":
    set_up()
    urls = asyncio.run(count_urls(sys.argv[1]))
    print(f"{urls} URLs", file=sys.stderr)
