"""Each value by itself: arithmetic, functions of one and two numbers, comparisons, casts."""
