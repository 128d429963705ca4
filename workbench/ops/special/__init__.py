"""Special functions: gamma, error, zeta and Bessel functions, orthogonal polynomials."""
