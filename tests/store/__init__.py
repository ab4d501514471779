"""Tests of the knowledge base's file."""
