"""The greedy search, unique relevance and its boost, and when to stop."""
