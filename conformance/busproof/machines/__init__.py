"""Hypothesis state machines: random programs over several processes on one store, held against the oracles.

Each example is a fresh store; the processes stay warm. What a machine finds is shrunk to the shortest program that
still shows it, and that program is the script of the failure.
"""
