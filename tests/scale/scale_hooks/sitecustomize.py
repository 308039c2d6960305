"""Imported by Python when it starts, in processes that have this folder on their PYTHONPATH."""

from tests.scale import scale_processes

scale_processes.install()
