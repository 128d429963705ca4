"""Codes: to them and back, layers on them, and what stands in for them in training."""
