"""Translation validation: what the steps compute is what the kernels and the model say."""
