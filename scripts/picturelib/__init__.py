"""Draws the pictures of the application that the documentation shows."""
