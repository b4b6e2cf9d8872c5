"""The parts of the program that are tested this way, each with the tests that are to notice."""

from pathlib import Path

from attrs import frozen

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "target_arch"


@frozen(kw_only=True)
class Room:
    """Source files below `target_arch/`, and tests. A folder is all files below it, but those of
    `others`. A trial does `without` tests that take minutes, as each survivor would run them.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    others: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The tests as arguments of pytest."""
        return (*self.tests, *(f"--deselect={test}" for test in self.without))

    def sources(self) -> tuple[Path, ...]:
        """The source files."""
        found = (PACKAGE / name for name in self.files)
        each = (sorted(path.rglob("*.py")) if path.is_dir() else [path] for path in found)
        others = {PACKAGE / name for name in self.others}
        every = (path for paths in each for path in paths if path.name != "__init__.py")
        return tuple(path for path in every if path not in others)


FRAMES = ("stages/check/frames.py", "stages/check/rules/frames.py", "stages/check/rules/cores.py")
DIVISION = ("stages/check/meaning/division.py",)
STACKS = ("stages/check/stacks.py",)
WORKLOADS = ("stages/check/jobs.py", "stages/check/table.py")

ROOMS = {
    "checker": Room(
        files=("stages/check",),
        tests=(
            "tests/stages/check/rules/test_rules.py",
            "tests/stages/check/rules/test_time.py",
            "tests/stages/check/rules/test_second_of_two.py",
            "tests/stages/check/rules/test_states.py",
            "tests/stages/check/rules/test_caller.py",
            "tests/stages/check/rules/test_itself.py",
            "tests/stages/check/rules/test_touches.py",
            "tests/stages/check/rules/test_turns.py",
            "tests/stages/check/test_messages.py",
            "tests/stages/check/test_waiting.py",
            "tests/stages/check/meaning/test_ends.py",
            "tests/stages/check/meaning/test_judged.py",
            "tests/stages/check/meaning/test_model.py",
            "tests/stages/check/meaning/test_numbers.py",
            "tests/stages/check/meaning/test_second_of_two.py",
            "tests/stages/check/meaning/test_steps.py",
            "tests/stages/check/meaning/test_two_in_one.py",
            "tests/stages/check/test_forms_of_faults.py",
            "tests/stages/memory/test_model_pools.py",
        ),
        others=(*FRAMES, *DIVISION, *STACKS, *WORKLOADS),
    ),
    "frames": Room(
        files=FRAMES,
        tests=(
            "tests/stages/check/test_two_frames.py",
            "tests/stages/check/test_turns_of_cores.py",
            "tests/stages/check/test_frames.py",
        ),
    ),
    "division": Room(
        files=DIVISION,
        tests=(
            "tests/stages/check/meaning/test_division.py",
            "tests/stages/check/meaning/test_division_axes.py",
            "tests/stages/check/meaning/test_division_faults.py",
            "tests/stages/check/meaning/test_division_forms.py",
        ),
    ),
    "workloads": Room(
        files=WORKLOADS,
        tests=("tests/stages/check/test_jobs.py", "tests/stages/workloads/test_table.py"),
    ),
    "stacks": Room(files=STACKS, tests=("tests/stages/check/test_stacks.py",)),
    "replays": Room(
        files=("stages/regions/replay.py",),
        tests=(
            "tests/stages/regions/test_calls.py",
            "tests/stages/regions/test_channels.py",
            "tests/stages/regions/test_patches.py",
            "tests/stages/regions/test_rows.py",
            "tests/stages/regions/test_two_of_each.py",
        ),
    ),
    "hazards": Room(
        files=("stages/program/hazards.py", "stages/program/dependences.py"),
        tests=(
            "tests/stages/program/test_hazards.py",
            "tests/stages/program/test_dependences.py",
        ),
    ),
    "program": Room(
        files=(
            "stages/program/homes.py",
            "stages/program/items.py",
            "stages/program/liveness.py",
            "stages/program/partial.py",
            "stages/program/program.py",
        ),
        tests=(
            "tests/stages/program/test_homes.py",
            "tests/stages/program/test_home_choice.py",
            "tests/stages/program/test_liveness.py",
            "tests/stages/program/test_reuse.py",
            "tests/stages/program/test_elision.py",
            "tests/stages/paths/test_reach.py",
        ),
    ),
    "memory": Room(
        files=("stages/memory/model_pools.py", "stages/memory/multi_model.py"),
        tests=(
            "tests/stages/memory/test_model_pools.py",
            "tests/stages/memory/test_multi_model.py",
            "tests/stages/memory/test_packing_again.py",
            "tests/stages/memory/test_pools_of_workloads.py",
        ),
    ),
    "budgets": Room(
        files=("stages/lowering/budgets/call_sites.py",),
        tests=("tests/stages/lowering/budgets/test_call_sites.py",),
    ),
    "ledger": Room(
        files=(
            "stages/lowering/budgets/budget.py",
            "stages/lowering/budgets/ledger.py",
            "stages/lowering/budgets/current_ledger.py",
            "stages/lowering/budgets/constant_bytes.py",
            "stages/lowering/budgets/foreseen.py",
            "stages/lowering/budgets/rebuild.py",
            "stages/memory/pool_ledger.py",
            "stages/memory/residents.py",
            "stages/memory/offsets.py",
            "stages/memory/packing/live_sums.py",
        ),
        tests=(
            "tests/stages/lowering/budgets/test_budget.py",
            "tests/stages/lowering/budgets/test_constant_bytes.py",
            "tests/stages/lowering/budgets/test_current_ledger.py",
            "tests/stages/lowering/budgets/test_exact_budgets.py",
            "tests/stages/lowering/budgets/test_foreseen.py",
            "tests/stages/lowering/budgets/test_ledger.py",
            "tests/stages/lowering/budgets/test_ledger_facts.py",
            "tests/stages/lowering/budgets/test_rebuild.py",
            "tests/stages/lowering/budgets/test_recomputed_budgets.py",
            "tests/stages/lowering/budgets/test_two_of_each.py",
            "tests/stages/memory/test_offsets.py",
            "tests/stages/memory/test_pool_ledger.py",
        ),
        without=(
            "tests/stages/lowering/budgets/test_exact_budgets.py::test_what_is_guaranteed_always_plans",
            "tests/stages/lowering/budgets/test_exact_budgets.py::test_a_byte_more_than_remains_has_no_plan",
            "tests/stages/lowering/budgets/test_ledger.py::test_what_is_guaranteed_always_plans",
            "tests/stages/lowering/budgets/test_ledger.py::test_an_alignment_unit_more_than_remains_never_plans",
            "tests/stages/lowering/budgets/test_ledger.py::test_unforeseen_kernels_do_not_renew_the_ledger_each_time",
        ),
    ),
    "in-place": Room(
        files=("stages/program/in_place.py", "stages/program/alias.py"),
        tests=(
            "tests/stages/program/test_reuse.py",
            "tests/stages/program/test_in_place.py",
            "tests/stages/program/test_alias.py",
            "tests/stages/program/test_elision.py",
            "tests/stages/program/test_states.py",
        ),
        without=(
            "tests/stages/program/test_alias.py::test_a_tensor_that_lies_elsewhere_is_found",
            "tests/stages/program/test_alias.py::test_a_tensor_that_is_no_part_is_found",
            "tests/stages/program/test_alias.py::test_a_tensor_of_another_size_is_found",
            "tests/stages/program/test_alias.py::test_writing_into_a_neighbour_is_found",
            "tests/stages/program/test_alias.py::test_simulated_runs_equal_the_reference",
            "tests/stages/program/test_alias.py::test_no_more_bytes_are_live_for_it",
            "tests/stages/program/test_states.py::test_sequences_equal_the_reference",
        ),
    ),
    "allocator": Room(
        files=(
            "stages/memory/allocate.py",
            "stages/memory/packing/sharing.py",
            "stages/memory/packing/fast.py",
        ),
        tests=(
            "tests/stages/memory/test_allocate.py",
            "tests/stages/memory/test_ways.py",
            "tests/stages/memory/packing/test_fast.py",
            "tests/stages/memory/packing/test_measure.py",
            "tests/stages/memory/packing/test_questions.py",
            "tests/stages/memory/packing/test_sharing.py",
        ),
        without=(
            "tests/stages/memory/test_allocate.py::test_every_algorithm_yields_valid_plans",
            "tests/stages/memory/packing/test_questions.py::test_an_effort_reaches_the_search",
        ),
    ),
}
