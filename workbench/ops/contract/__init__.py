"""Products that end dims: matrices, tensors, chains of them, Einstein sums."""
