"""Images at other sizes and places: interpolation, grids, channels into space."""
