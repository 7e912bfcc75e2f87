"""What memory costs: requests, sectors, bank conflicts and cache lines of GPU instructions."""
