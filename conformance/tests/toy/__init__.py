"""A sixth system, for tests alone: what it takes to add one, in about 200 lines. Nothing of the kit knows it."""
