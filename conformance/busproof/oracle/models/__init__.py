"""Oracles: the guarantees of a noun, in a few lines each. They share nothing with any implementation."""
