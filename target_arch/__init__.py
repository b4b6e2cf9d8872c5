"""Bring models onto heterogeneous SoCs."""

__version__ = "0.1.0"
