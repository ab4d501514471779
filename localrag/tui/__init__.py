"""The terminal application; the only package that knows Textual."""
