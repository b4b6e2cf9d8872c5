"""The files that make a bundle a package of other build systems, in place, and its papers."""
