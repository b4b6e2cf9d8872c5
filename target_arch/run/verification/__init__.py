"""The outputs of a bundle, compared with its references."""
