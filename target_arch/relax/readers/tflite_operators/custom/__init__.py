"""Custom operators of TFLite: their options are mostly a map in FlexBuffers' encoding."""
