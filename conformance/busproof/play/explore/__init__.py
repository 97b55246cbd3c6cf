"""The search for a difference between a bus and the model of its system, and its results.

`script` is a program as data; `stage` plays it and holds every answer against the model; a system's generator draws
the next step from the model's state; `search` plays until something differs; `shrink` makes that small; `corpus`
keeps the scripts that together cover the model.
"""
