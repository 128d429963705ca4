"""Ops that are not written, each with its reason: one that is, and stands here, fails the run."""

from __future__ import annotations

GRADIENT = "what a gradient is computed with: files are written to be used"
COMPLEX = "the format's operators take no complex numbers"
FACTORED = "the format has no operators that take matrices apart"
SPECIAL = "the format has no operator for the function"
SPARSE = "sparse values have no operators in the format"
DRAWN = "what is drawn would be another in each run"
MEMORY = "it looks at values as they lie in memory"
WINDOWS = "the format has no operator that does it, and none that it is made of without a loop"

WITHOUT = {
    "_gradient": GRADIENT, "cofactors": GRADIENT, "_share": GRADIENT, "gamma_quantile_": GRADIENT,
    "view_as_": COMPLEX, "imag": COMPLEX, "angle": COMPLEX, "complex": COMPLEX, "fft_": COMPLEX,
    "linalg_": FACTORED, "geqrf": FACTORED, "permutation_matrix": FACTORED,
    "lgamma": SPECIAL, "digamma": SPECIAL, "polygamma": SPECIAL, "erfcx": SPECIAL, "erfinv": SPECIAL, "ndtri": SPECIAL,
    "log_ndtr": SPECIAL, "zeta": SPECIAL, "gammainc": SPECIAL, "i0": SPECIAL, "i0e": SPECIAL, "i1": SPECIAL,
    "i1e": SPECIAL, "bessel_": SPECIAL, "modified_bessel_": SPECIAL, "scaled_modified_": SPECIAL,
    "sparse_": SPARSE, "embedding_sparse": SPARSE,
    "poisson": DRAWN, "binomial": DRAWN, "von_mises": DRAWN, "standard_gamma": DRAWN, "rrelu": DRAWN,
    "view_dtype": MEMORY, "strided_sum": MEMORY, "as_strided_scatter": MEMORY,
    "place": WINDOWS, "bag_": WINDOWS, "ctc_loss": WINDOWS, "linear_cross_entropy": WINDOWS, "class_": WINDOWS,
    "fractional_max_pool": WINDOWS, "histc": WINDOWS, "histogram": WINDOWS, "mode": WINDOWS, "nanmedian": WINDOWS,
    "nanmedian_dim": WINDOWS, "linear_scan": WINDOWS, "cumprod": WINDOWS, "cummax": WINDOWS, "cummin": WINDOWS,
    "gcd": SPECIAL, "lcm": SPECIAL, "nextafter": SPECIAL, "frexp_exponent": SPECIAL,
    "diagonal_embed": WINDOWS, "diagonal_scatter": WINDOWS, "add_windows": WINDOWS,
}  # fmt: skip

SKIPPED = {
    "running_statistics": "it changes the statistics of a model in training",
    "adaptive_max_pool": "its samples have windows of several sizes",
    "dropout": DRAWN,
}  # fmt: skip
"""Ops of which no sample is written, though a rule says why."""

WORKS = {"lstm": 3, "gru": 2, "rnn": 2}
"""How many results are written: the others are what happens inside."""
