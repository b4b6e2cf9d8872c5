"""TIR as standalone C and CUDA."""
