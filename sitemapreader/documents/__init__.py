"""Going to documents: opened, read within a budget, each with an outcome.

Discovery looks at them, and a walk reads them; how a document is gone to is the same.
"""
