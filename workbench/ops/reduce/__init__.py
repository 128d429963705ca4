"""Many values to fewer: sums, extremes, statistics, order along a dim, running results, distances."""
