"""Of a run's streams only the rows that can have to do with a violation: what a check says of those it says of all.

Each file here answers for one check, with a query a stream. A query may name too many rows, never too few, and never
tears apart what the check sets side by side: so no witness is lost and none is made up. DuckDB answers them, and what
does not fit its memory goes to disk; so a run may be of any size. The rows of a sound run are next to none.
"""
