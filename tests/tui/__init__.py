"""Tests of the terminal application."""
