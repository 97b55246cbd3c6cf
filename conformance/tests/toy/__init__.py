"""A sixth system, for tests alone: all that adding one takes, in about 200 lines. Nothing of the kit knows it."""
