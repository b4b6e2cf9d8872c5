"""Programs around a model: C files of `runtime_c/programs`, and the tables that tell them about a bundle."""
