"""From the files of a bundle to an executable, an image or firmware, and what these take."""
