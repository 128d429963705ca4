"""Linear algebra: factors, solutions, spectra, functions and norms of batches of matrices."""
