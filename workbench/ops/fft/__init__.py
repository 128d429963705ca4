"""Fourier transforms, their frequencies, windows and short-time spectra."""
