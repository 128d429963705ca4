"""PyTorch's own database of optimizers as an outside judge of ours."""
