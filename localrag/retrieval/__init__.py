"""Question in, ranked passages, entities and relations out, cut to what the model's context holds."""
