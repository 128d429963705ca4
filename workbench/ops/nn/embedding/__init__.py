"""Rows of a table by number, one by one and in bags."""
