"""The texts of options as values of the API: pairs, shapes, sizes, orders and wishes.

Each function takes what the command line has of one option, all values of one that may repeat.
DiagnosticError for text that is no such value, or contradicts another one. Tests:
`tests/cli/arguments/test_option_texts.py`.
"""

import re
from collections.abc import Sequence

from target_arch.cli.arguments.soc_argument import target_of
from target_arch.diagnostics import DiagnosticError, listed, refusal
from target_arch.plan.orders import PHASES
from target_arch.soc import SoC
from target_arch.soc.units import SIZE, split

Order = str | tuple[str, ...]

_NUMBER = re.compile(r"[+-]?(\d{1,18}|\d{0,18}\.\d{1,18}|\d{1,18}\.)(e[+-]?\d{1,2})?", re.ASCII)
_SHAPE = re.compile(r"([1-9]\d{0,8}(x[1-9]\d{0,8})*)?", re.ASCII)


def shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """`NAME=1x3x224x224`: the shapes of inputs by name."""
    by_name: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, equals, extents = text.rpartition("=")
        if not equals or not name or not _SHAPE.fullmatch(extents):
            hint = "as in `--input-shape x=1x3x224x224`; a scalar is `x=`"
            raise refusal("bad-shape", "command line", f"`{text}` is not NAME=EXTENTxEXTENT...", hint)
        shape = tuple(int(extent) for extent in extents.split("x")) if extents else ()
        if by_name.setdefault(name, shape) != shape:
            said = f"input `{name}` is to have two shapes: {_shape(by_name[name])} and {_shape(shape)}"
            raise refusal("bad-shape", "command line", said, "name one of them")
    return by_name


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"


def numbers(texts: Sequence[str]) -> dict[str, float]:
    """`NAME=16000`: the values of inputs by name."""
    by_name: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not _NUMBER.fullmatch(value):
            hint = "as in `--input-value rate=16000`"
            raise refusal("bad-value", "command line", f"`{text}` is not NAME=NUMBER", hint)
        number = int(value) if value.lstrip("+-").isdigit() else float(value)
        if by_name.setdefault(name, number) != number:
            said = f"input `{name}` is to have two values: {by_name[name]} and {number}"
            raise refusal("bad-value", "command line", said, "name one of them")
    return by_name


def memory_limits(texts: Sequence[str]) -> dict[str, int]:
    """`sram=40KiB`: bytes by memory."""
    limits: dict[str, int] = {}
    for text in texts:
        name, equals, size = text.partition("=")
        if not (name and equals):
            raise _bad_limit(text, "names no memory and size")
        if name in limits:
            raise _bad_limit(text, "names a memory twice")
        limit = _bytes(size)
        if limit is None:
            raise _bad_limit(text, f"has a size of `{size}`: bytes, or a number with {listed(SIZE)}")
        if limit <= 0:
            raise _bad_limit(text, f"leaves nothing of `{name}`", _OTHERWISE)
        limits[name] = limit
    return limits


_WRITE = "write `--memory sram=40KiB`, once per memory"
_OTHERWISE = "the least is 1 byte; a memory mode of the SoC file says which memories are used at all"


def _bad_limit(text: str, fault: str, hint: str = _WRITE) -> DiagnosticError:
    return refusal("bad-memory", "command line", f"`--memory {text}` {fault}", hint)


def _bytes(text: str) -> int | None:
    """A size in whole bytes; a number alone is bytes."""
    parts = split(text)
    if parts is None or (parts[1] or "B") not in SIZE:
        return None
    size = parts[0] * SIZE[parts[1] or "B"]
    return int(size) if size.denominator == 1 else None


def states(texts: Sequence[str]) -> dict[str, str]:
    """`IN=OUT`, each input once."""
    pairs: dict[str, str] = {}
    for text in texts:
        source, equals, target = text.partition("=")
        if not (source and equals and target) or source in pairs:
            said = f"`--state {text}` names " + (
                "an input twice" if source in pairs else "no input and output"
            )
            raise refusal("wrong-state", "command line", said, "write `--state INPUT=OUTPUT`, once per input")
        pairs[source] = target
    return pairs


def lowering_orders(texts: Sequence[str]) -> Order | dict[str, Order]:
    """One order for all phases, orders by phase, or both: a phase that is named has its own."""
    orders: dict[str, Order] = {}
    for text in texts:
        phase, named, wish = text.rpartition("=")
        if phase in orders:
            first = orders[phase] if isinstance(orders[phase], str) else ",".join(orders[phase])
            what = f"phase `{phase}` has" if named else "lowering has"
            said = f"{what} two orders: `{first}` and `{wish}`"
            raise refusal("contradictory-order", "command line", said, "say `--lowering-order` once for each")
        orders[phase] = _order(wish)
    everywhere = orders.pop("", None)
    if not orders or everywhere is None:
        return orders or everywhere or ()
    return {**dict.fromkeys(PHASES, everywhere), **orders}


def _order(text: str) -> Order:
    """A policy's name, or partition ids; a single id is no order of anything, so one word is a policy."""
    return names(text) if "," in text else text


def names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in text.split(",")) if text else ()


def wishes(texts: Sequence[str], soc: SoC) -> dict[str, tuple[str, ...]]:
    """`OPERATOR=TARGET` texts by operator, without targets for `OPERATOR=`. Names of operators are checked by
    the placer, which knows them.
    """
    targets: dict[str, tuple[str, ...]] = {}
    for text in texts:
        operator, equals, target = text.partition("=")
        if not equals or not operator:
            raise refusal("bad-wish", "command line", f"`{text}` is not OPERATOR=TARGET")
        before = targets.setdefault(operator, ())
        if target:
            targets[operator] = tuple(dict.fromkeys((*before, target_of(soc, target))))
    return targets


def single_wishes(texts: Sequence[str], soc: SoC) -> dict[str, str]:
    """As `wishes`, with one target at most for an operator; an empty text where there is none."""
    return {operator: _only(operator, targets) for operator, targets in wishes(texts, soc).items()}


def _only(operator: str, targets: tuple[str, ...]) -> str:
    if len(targets) > 1:
        said = f"operator `{operator}` is wanted on `{targets[0]}` and on `{targets[1]}`"
        raise refusal("bad-wish", "command line", said, "name one of them")
    return targets[0] if targets else ""


def images(texts: Sequence[str]) -> dict[str, str]:
    """`TARGET=FILE` texts by target_arch."""
    files: dict[str, str] = {}
    for text in texts:
        target, equals, file = text.partition("=")
        if not equals or not target or not file:
            raise refusal("bad-image", "command line", f"`{text}` is not TARGET=FILE")
        if files.setdefault(target, file) != file:
            said = f"`{target}` is to get `{files[target]}` and `{file}`"
            raise refusal("bad-image", "command line", said, "name one of them")
    return files


def with_negative_values(words: Sequence[str]) -> list[str]:
    """`--input-range -1:1` as `--input-range=-1:1`: argparse takes a value that begins with `-` and is no
    number for another option.
    """
    joined: list[str] = []
    for word in words:
        before = joined[-1] if joined else ""
        if before.startswith("--") and "=" not in before and re.match(r"-[\d.].*:", word):
            joined[-1] = f"{before}={word}"
        else:
            joined.append(word)
    return joined


def input_ranges(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """`indices=0:70`: the lowest and the highest value by input; `0:70` is of the only one."""
    ranges: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, equals, ends = text.rpartition("=")
        try:
            low, high = map(_number, ends.split(":"))
        except ValueError:
            raise _bad_range(text, "is no range") from None
        if equals and not name:
            raise _bad_range(text, "names no input")
        if name in ranges:
            raise _bad_range(text, "names an input twice")
        ranges[name] = low, high
    return ranges


def _number(text: str) -> float:
    """An integer of any size, or a float. ValueError for anything else."""
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _bad_range(text: str, fault: str) -> DiagnosticError:
    hint = "write `--input-range indices=0:70`, once per input"
    return refusal("wrong-range", "command line", f"`--input-range {text}` {fault}", hint)
