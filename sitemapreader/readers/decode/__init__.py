"""Content codings besides gzip and deflate: br and zstd, where a library for them is installed."""
