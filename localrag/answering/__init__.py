"""Context in, cited answer out: the request, the stream, and the check of every citation."""
