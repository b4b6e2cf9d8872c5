"""An offset for every buffer in every memory."""
