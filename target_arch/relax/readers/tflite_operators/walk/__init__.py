"""The walk over the operators of a TFLite model."""
