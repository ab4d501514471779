"""The graph over what was read: which names mean the same thing, and how things hang together."""
