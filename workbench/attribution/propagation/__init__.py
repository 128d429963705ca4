"""Sharing out what a model answered among what it was given, call by call, by the statements of the table."""
