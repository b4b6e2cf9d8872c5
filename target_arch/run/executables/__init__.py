"""From the files of a bundle to an executable, an image or firmware, and their sizes."""
