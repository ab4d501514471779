"""Tests of communities."""
