"""Custom operators of TFLite: their options are a map in FlexBuffers' encoding."""
