"""Files to compile and link a bundle: build files, libraries, linker fragments, images of firmware."""
