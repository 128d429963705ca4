"""Scripted programs as graphs that files can have: what a run decides becomes control flow of the format."""
