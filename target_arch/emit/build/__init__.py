"""What compiles and links a bundle: build files, libraries, linker fragments, images of firmware."""
