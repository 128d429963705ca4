"""Attention: of one head, and of several with their projections."""
