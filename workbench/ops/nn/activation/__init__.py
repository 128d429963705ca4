"""Activations: rectifiers, gates, shrinkage, softmax."""
