"""`toml:bus.toml`: a bus that a file describes, and no code (docs/bus-toml.md).

`form` is the file, `template` and `answers` are its two small languages, `cli`, `mcp` and `http` are the ways to a
program, `host` is a server that all agents of a store share, `memory` is what is known of a store, `agent` is one
agent's session, and `adapter` is the program that speaks the kit's protocol for all of them.
"""
