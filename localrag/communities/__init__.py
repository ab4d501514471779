"""Communities of the graph: divided, reported on, and asked about as a whole."""
