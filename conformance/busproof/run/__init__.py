"""What makes a run of these: items, their outcomes by row, `check` and the other commands that start a bus."""
