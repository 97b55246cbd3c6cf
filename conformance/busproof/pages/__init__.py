"""Pages of the project that are generated."""
