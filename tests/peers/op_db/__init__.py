"""PyTorch's own op database as an outside judge of the table."""
