"""Faults: buses of the reference with one deliberate fault each; which there are, and who finds them.

A fault is declared in `conformance/faults/SYSTEM/NOUN.py`, as `plant.py` beside it says. `record` reads the
declarations, `judge` has `check` judge a fault, `choices` those that break nothing, `blind` a diff, `command` is
`busproof faults`.
"""
