"""Which faults does no test notice?

    python -m conformance.mutants [ROOM ...] [--only TEXT] [--sample N] [--seed S] [--log FILE] [--seconds S]
                                 [--others] [--list]

For every room, or those named: plants each fault, and prints the survivors that `explained.toml` does not
explain, the explanations that are of no survivor, and how many mutants there were. `--only` takes mutants
whose name contains the text, `--others` those of other kinds (only the first turn of a loop, another
attribute, half of an equality, tuples without one element), `--sample` a random N of these in each room, the
same for the same seed. A long run can be made of several: with `--log` the fate of each mutant is a line of a
file, `--seconds` end the run, and the next one with the same file goes on with the mutants that are not in
it. Exit code 1 where anything is left to do.
"""

import argparse
import math
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import define, field, frozen

from conformance.kept import Kept
from conformance.mutants.mutations import Mutant, mutants, names
from conformance.mutants.rooms import PACKAGE, ROOMS, Room
from conformance.mutants.trials import Fate, trials

EXPLAINED = Path(__file__).with_name("explained.toml")


@frozen(kw_only=True)
class Explanation:
    """Why a mutant survives: its name, its change, and the reason that no test can notice, or need."""

    mutant: str
    change: str
    reason: str


def explanations(text: str) -> dict[str, Explanation]:
    """By name of the mutant. ValueError for a mutant that is there twice."""
    found: dict[str, Explanation] = {}
    for entry in tomllib.loads(text).get("survivor", ()):
        if entry["mutant"] in found:
            raise ValueError(f"{entry['mutant']} is explained twice")
        found[entry["mutant"]] = Explanation(**entry)
    return found


def planned(
    room: Room, only: str = "", sample: int | None = None, seed: int = 0, *, others: bool = False
) -> list[tuple[Path, Mutant]]:
    """The mutants of a room that are asked for, with their files, in the order of the text."""
    texts = {path: (path.relative_to(PACKAGE).as_posix(), path.read_text()) for path in room.sources()}
    chosen = [name for file in texts.values() for name in names(*file, others=others) if only in name]
    if sample is not None and sample < len(chosen):
        chosen = random.Random(seed).sample(chosen, sample)
    wanted = frozenset(chosen)
    return [
        (path, mutant) for path, file in texts.items() for mutant in mutants(*file, wanted, others=others)
    ]


def faults_of(fates: Mapping[str, tuple[Mutant, Fate]], known: Mapping[str, Explanation]) -> Iterator[str]:
    """Survivors without explanation, and explanations of something else."""
    for name, (mutant, fate) in fates.items():
        note = known.get(name)
        if note is None and fate.survives:
            yield f"{fate}: {name} (line {mutant.first}): {mutant.change}"
        elif note is not None and not fate.survives:
            yield f"explained, but {fate}: {name}: {mutant.change}"
        elif note is not None and note.change != mutant.change:
            yield f"explained as `{note.change}`, but it is `{mutant.change}`: {name}"


@define
class Record:
    """The fates of mutants, those of earlier runs included."""

    kept: Kept = field(repr=False)
    known: Mapping[str, Explanation] = field(repr=False)
    left: list[str] = field(factory=list)
    """What is to be done."""

    @property
    def fates(self) -> dict[str, Fate]:
        """The fates so far, by the mutants' names."""
        return {name: Fate(fate) for name, fate in self.kept.known.items()}

    def note(self, mutant: Mutant, fate: Fate) -> list[str]:
        """Write the fate down; what is to be done about it."""
        if mutant.name not in self.kept.known:
            self.kept.add(mutant.name, fate)
        found = list(faults_of({mutant.name: (mutant, fate)}, self.known))
        self.left += found
        return found


def tried(name: str, room: Room, chosen: list[tuple[Path, Mutant]], record: Record, seconds: float) -> bool:
    """Try the mutants of a room, as many as there is time for, and print what is to be done and the numbers;
    True if nothing is.
    """
    out, start = sys.stdout, time.monotonic()  # pytest's own output goes elsewhere while it runs

    def seen(mutant: Mutant, fate: Fate) -> bool:
        for line in record.note(mutant, fate):
            print(line, file=out, flush=True)
        print(f"\r{name}: {len(record.kept.known)} ", end="", file=sys.stderr, flush=True)
        return time.monotonic() - start < seconds

    earlier = record.fates
    fresh = [each for each in chosen if each[1].name not in earlier]
    for _, mutant in chosen:
        if mutant.name in earlier:
            seen(mutant, earlier[mutant.name])
    if fresh:
        trials(room.arguments, fresh, seen)
    print(file=sys.stderr)
    every = record.fates
    fates = {mutant.name: every[mutant.name] for _, mutant in chosen if mutant.name in every}
    count = Counter(fates.values())
    explained = sum(fate.survives and each in record.known for each, fate in fates.items())
    survived = count[Fate.SURVIVED] + count[Fate.UNREACHED]
    print(
        f"{name}: {len(fates):,} of {len(chosen):,} mutants, {count[Fate.KILLED]:,} killed, "
        f"{count[Fate.TIMED_OUT]:,} out of time, {survived:,} survived, {explained:,} of them explained; "
        f"{time.monotonic() - start:.0f} s"
    )
    return not record.left and len(fates) == len(chosen)


def unknown(known: Mapping[str, Explanation]) -> list[str]:
    """Explanations of mutants that do not exist, whatever is asked for."""
    files = {path for room in ROOMS.values() for path in room.sources()}
    every = {
        name
        for path in files
        for others in (False, True)
        for name in names(path.relative_to(PACKAGE).as_posix(), path.read_text(), others=others)
    }
    return sorted(set(known) - every)


def main() -> int:
    """Exit code: 0 where every survivor is explained."""
    parser = argparse.ArgumentParser(prog="python -m conformance.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of each room, at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the sample")
    parser.add_argument("--log", type=Path, metavar="FILE", help="fates, of earlier runs and of this one")
    parser.add_argument("--seconds", type=float, default=math.inf, metavar="S", help="time for each room")
    parser.add_argument("--others", action="store_true", help="faults of other kinds")
    parser.add_argument("--list", action="store_true", help="print the mutants, and try none")
    options = parser.parse_args()
    for name in options.rooms:
        if name not in ROOMS:
            parser.error(f"there is no room `{name}`; there are {', '.join(ROOMS)}")
    known, done = explanations(EXPLAINED.read_text()), True
    for name in options.rooms or ROOMS:
        chosen = planned(ROOMS[name], options.only, options.sample, options.seed, others=options.others)
        if options.list:
            for _, mutant in chosen:
                print(f"{mutant.name} (line {mutant.first}): {mutant.change}")
        elif chosen:
            done &= tried(name, ROOMS[name], chosen, Record(Kept(options.log), known), options.seconds)
    gone = unknown(known)
    for name in gone:
        print(f"explained, but there is no such mutant: {name}")
    return 0 if done and not gone else 1


if __name__ == "__main__":
    sys.exit(main())
