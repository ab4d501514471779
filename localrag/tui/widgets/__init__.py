"""Widgets of the terminal application, one pane a module."""
