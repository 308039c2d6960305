"""The options of the commands, in groups that a command combines.

An option that is not given is `None`, which keeps the library's default. Short options are those of
curl where curl has the same option.
"""
