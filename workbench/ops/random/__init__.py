"""Chance that a seed decides: drawn again for the gradient, the same with any number of threads."""
