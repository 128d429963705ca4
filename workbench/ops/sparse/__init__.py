"""Sparse tensors: values with their places."""
