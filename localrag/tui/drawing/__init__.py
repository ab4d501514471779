"""Draws an entity among its neighbours with the characters of a terminal.

`picture` says what is drawn, `layout` where it stands, `paint` puts it on a `canvas`. Nothing here knows of
widgets, so that all of it can be tested as text.
"""
