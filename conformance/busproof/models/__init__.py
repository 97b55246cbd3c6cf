"""Oracles: what a noun may be relied on for, in a few lines each. They share nothing with any implementation."""
