"""The application in a browser on the same machine: a small server, and the process that it runs per page."""
