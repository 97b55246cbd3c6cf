"""The seed's token bucket, lifted: it limits agents, not the bus."""

UNLIMITED = {"rate_capacity": 1e9, "rate_refill_per_s": 1e9}
