"""Screens and dialogs of the terminal application."""
