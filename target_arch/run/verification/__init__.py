"""What a bundle answers, compared with its reference."""
