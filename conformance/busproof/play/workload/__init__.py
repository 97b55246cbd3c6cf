"""A seeded concurrent workload: the plan is drawn first, then played on real sessions in threads, and recorded.

The same seed draws the same plan; how the threads interleave is the machine's choice, and the checks hold for every
interleaving. Lease time passes between phases, on all sessions at once, so that one session's clock never runs ahead
of another's while leases are at stake.
"""
