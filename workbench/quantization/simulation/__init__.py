"""A model with any of its layers in codes: one graph, calibrated once, that computes what each choice would give."""
