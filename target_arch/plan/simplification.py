"""The work of a model's file that the model leaves out, since no result depends on it."""

from attrs import frozen


@frozen(kw_only=True)
class Simplification:
    """Channels of the results of all operators, multiply-accumulates and bytes of constants: what is left,
    and, with `all_`, of the whole model of the file.
    """

    channels: int
    all_channels: int
    macs: int
    all_macs: int
    constant_bytes: int
    all_constant_bytes: int

    def __str__(self) -> str:
        """Return one sentence; empty where nothing is left out."""
        if self.channels == self.all_channels:
            return ""
        gone = self.all_channels - self.channels
        return (
            f"{gone:,} of {self.all_channels:,} channels influence no result and are left out: "
            f"{self.macs:,} of {self.all_macs:,} MACs and {self.constant_bytes:,} of "
            f"{self.all_constant_bytes:,} B of constants stay"
        )
