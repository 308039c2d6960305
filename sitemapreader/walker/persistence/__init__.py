"""The connection of a walk with its state: what is known and what is saved.

Entries are saved as delivered when the consumer acknowledges them: when it asks for the next batch,
or when its `Delivery` says so. A walk that was killed is resumed with the batch that the consumer
was handling. This one batch may come twice, and nothing is lost.
"""
