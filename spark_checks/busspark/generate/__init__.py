"""Histories of any size, with every kind of violation planted on request, and the truth beside them.

A small correct bus of each system (`comms`, `topics`, `worker`) is played by agents side by side: calls overlap, some
are never answered, and some of those happened. `stage` plays and writes; a fault changes one answer, or one row of the
final state, and is noted. `python -m busspark.generate SYSTEM EVENTS FILE [--faults N]` writes FILE and FILE.truth.
"""
