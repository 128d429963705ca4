"""Convolutions, transposed ones, patches, and where windows lie."""
