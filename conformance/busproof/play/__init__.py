"""What plays a bus: scenarios, the corpus and the search that made it, and the concurrent workload."""
