"""The scripts that decide catalogue rows: one folder a system, one module a noun. Importing them registers them."""
