"""Tests of looking through the graph."""
