"""Imported by Python when it starts, in processes that have this folder on their PYTHONPATH."""

import scale_processes

scale_processes.install()
