"""From a chunk's text to the entities and relations in it."""
