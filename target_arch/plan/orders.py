"""The lowering order: which partition is lowered when, in which phase."""

from attrs import frozen

from target_arch.soc import model

PHASES = model.PHASES


@frozen(kw_only=True)
class LoweringSlot:
    """One partition's turn.

    `phase` is the last phase this turn reaches (all earlier ones happen in it too).
    """

    partition: str
    phase: str
    reason: str


@frozen(kw_only=True)
class LoweringOrder:
    """A total order over partitions with the policy that made it."""

    policy: str
    slots: tuple[LoweringSlot, ...]
