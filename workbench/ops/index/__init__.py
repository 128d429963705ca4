"""Values at places: slices, tensors of indices, masks, gathering and scattering, searching."""
