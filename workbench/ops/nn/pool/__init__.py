"""Pooling over windows, to given sizes, and at fractional steps."""
