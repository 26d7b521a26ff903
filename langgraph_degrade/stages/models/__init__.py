"""Models: a chain of tiers, each asked in the way it can answer."""
