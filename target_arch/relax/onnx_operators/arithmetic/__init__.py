"""Operators that compute: elements, products, reductions, norms, spectra, quantized numbers."""
