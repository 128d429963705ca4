"""Normalisation over batches, groups of channels and last dims."""
