"""The work of a model's file that the model leaves out, since its results are known or computed elsewhere."""

from attrs import frozen


@frozen(kw_only=True)
class Simplification:
    """Channels that operators compute, multiply-accumulates and bytes of constants: what is left, and, with
    `all_`, of the whole model of the file.
    """

    channels: int
    all_channels: int
    macs: int
    all_macs: int
    constant_bytes: int
    all_constant_bytes: int

    def __str__(self) -> str:
        """Return one sentence; empty where nothing is left out."""
        if (self.channels, self.macs) == (self.all_channels, self.all_macs):
            return ""
        gone = self.all_channels - self.channels
        return (
            f"{gone:,} of {self.all_channels:,} channels are constant, unread or equal to others and left "
            f"out: {self.macs:,} of {self.all_macs:,} MACs and {self.constant_bytes:,} of "
            f"{self.all_constant_bytes:,} B of constants stay"
        )
