"""The command line: one module per group of commands over the façade in `localrag.kb`."""
