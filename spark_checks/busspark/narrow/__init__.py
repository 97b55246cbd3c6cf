"""The rows of a run's streams that can have to do with a violation: a check's verdict on these is its verdict on all.

Each file here answers for one check, with one query per stream. A query may name too many rows, never too few, and
never tears apart rows that the check sets side by side: so no witness is lost and none is made up. DuckDB answers the
queries, and data that does not fit its memory goes to disk; so a run may be of any size. A sound run has next to none
of these rows.
"""
