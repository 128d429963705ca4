"""PyTorch's database of modules as an outside judge."""
