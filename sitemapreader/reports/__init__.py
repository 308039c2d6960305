"""The report of a walk, and how it is shown: in a notebook, as tables, as a tree."""
