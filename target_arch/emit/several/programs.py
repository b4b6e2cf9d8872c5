"""`src/runner.c` and `src/selftest.c` of a bundle of several models.

Both let the models alternate: a frame of the runner is one of each model, and the self-test runs all of
them twice. Where arenas are shared each model gets its inputs just before it runs and is asked for its
outputs just after it; where they are separate all inputs are written first and all outputs read last, so
that these must outlive the runs of others.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from target_arch.emit.model.inputs import EmitInputs, SelfTest
from target_arch.emit.model.steps import bundle_symbol
from target_arch.emit.programs import bare_metal as machine
from target_arch.emit.programs import host
from target_arch.emit.programs.frames import frame_functions, split
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment, identifier
from target_arch.plan.model_pools import ModelPools, Sharing

_RUNNER_HEAD = """\
/* Runs {names} on frames, in turn: a frame is one of each of these models.
 * Reads the bytes of every input from {source}, writes those of every output to
 * {target}, until the frames end. Returns the ta_status; 64 where a frame is cut short or a file
 * cannot be read or written, 65 for a bad argument. */"""

_SELFTEST_HEAD = """\
/* Self-test of {names}: one input of each, and what its reference makes of it.
 * All of them run in turn, twice. Returns 0 where every output passes, 1 where one does not, 2 where a model
 * did not run. */
#include <math.h>
#include <string.h>"""

_FAILED = """
/* Says which step of which model failed, -1 where none is to blame, and stops everything. */
static int failed(const char *what, ta_status status)
{{
    const ta_runtime *runtime = {bundle}_runtime();
    const char *model = runtime->bundle == NULL ? "-" : runtime->bundle->name;
    fprintf(stderr, "%s %s: step %ld: %s\\n", what, model, (long)(int32_t)runtime->failed_step,
            ta_status_name(status));
{complaint}    (void){bundle}_stop();
    return {answer};
}}"""

_MACHINE_FAILED = """
/* Says which step of which model failed, -1 where none is to blame, and stops everything. */
static int failed(const char *what, ta_status status)
{{
    const ta_runtime *runtime = {bundle}_runtime();
    {port}_say(what);
    {port}_say(" ");
    {port}_say(runtime->bundle == NULL ? "-" : runtime->bundle->name);
    {port}_say(": step ");
    {port}_say_number((int32_t)runtime->failed_step);
    {port}_say(": ");
    {port}_say(ta_status_name(status));
    {port}_say("\\n");
    (void){bundle}_stop();
    return {answer};
}}"""

_MACHINE_VARIABLES = """\
int frames = {port}_open("frames", 0), results = {port}_open("results", 1), frame;
uint32_t word;
uint64_t since;"""

_RUN = "status = {model}_run();"

_COUNTED_RUN = """\
{port}_count_steps_of(&{model}_bundle, &profile[{first}], {steps});
since = {port}_ticks();
status = {model}_run();
profile[0] += {port}_ticks() - since;
{port}_count_steps((uint64_t *)0, 0);"""

_CLEAR = """\
for (word = 0; word < sizeof profile / sizeof profile[0]; word++)
    profile[word] = 0;"""


@frozen(kw_only=True)
class _Programs:
    """What both programs are written from. `first` is the number of a model's first step in the profile."""

    whole: EmitInputs
    members: tuple[EmitInputs, ...]
    kept: bool
    first: Mapping[str, int] = field(factory=dict)

    @property
    def emulated(self) -> bool:
        return self.whole.port.bare_metal is not None

    @property
    def names(self) -> str:
        return ", ".join(f"`{comment(member.model.name)}`" for member in self.members)

    @property
    def steps(self) -> int:
        return sum(len(member.steps.steps) for member in self.members)

    def phases(self, phases: Sequence[Callable[[EmitInputs], list[str]]]) -> list[str]:
        """The statements of a round: all phases for each model, or, where models keep their bytes, each phase
        for all models.
        """
        if self.kept:
            return [line for phase in phases for member in self.members for line in phase(member)]
        return [line for member in self.members for phase in phases for line in phase(member)]

    def run(self, member: EmitInputs) -> list[str]:
        model = identifier(member.model.name)
        text = _COUNTED_RUN if self.emulated else _RUN
        first = machine.PROFILE_HEAD + self.first[member.model.name]
        names = {"model": model, "port": self.whole.port.prefix}
        lines = text.format(**names, first=first, steps=len(member.steps.steps)).split("\n")
        return [*lines, "if (status != TA_OK)", '    return failed("run", status);']


def _programs(whole: EmitInputs, members: Sequence[EmitInputs], pools: ModelPools) -> _Programs:
    first, count = {}, 0
    for member in members:
        first[member.model.name] = count
        count += len(member.steps.steps)
    return _Programs(whole=whole, members=tuple(members), kept=pools.arenas != Sharing.SHARED, first=first)


def models_runner(whole: EmitInputs, members: Sequence[EmitInputs], pools: ModelPools) -> str:
    """The C text of the runner."""
    made = _programs(whole, members, pools)
    files = ("the file `frames`", "`results`") if made.emulated else ("standard input", "standard output")
    out = Emitter()
    out.block(_RUNNER_HEAD.format(names=made.names, source=files[0], target=files[1]))
    _includes(out, made, ("stdio.h", "stdlib.h", "string.h") if whole.port.hosted.simulates else ("stdio.h",))
    if whole.port.hosted.simulates:
        out.block(host.ARGUMENTS.format(prefix=whole.port.prefix))
    _profile(out, made)
    _failed(out, made, "(int)status")
    for member in members:
        frame_functions(out, member, identifier(member.model.name))
    arguments = "int argc, char **argv" if whole.port.hosted.simulates else "void"
    out.lines(("", *(["int main(void);"] if made.emulated else []), f"int main({arguments})", "{"))
    with out.indent():
        _runner_body(out, made)
    out.line("}")
    return out.text()


def _runner_body(out: Emitter, made: _Programs) -> None:
    bundle = made.whole.stem
    variables = _MACHINE_VARIABLES if made.emulated else "int frame;"
    out.lines(variables.format(port=made.whole.port.prefix).split("\n"))
    out.line("ta_status status;")
    if made.whole.port.hosted.simulates:
        out.lines(("if (!arguments(argc, argv))", "    return 65;"))
    out.line(f"status = {bundle}_init(&ta_port_{made.whole.port.name});")
    out.lines(("if (status != TA_OK)", '    return failed("init", status);'))
    if made.emulated:
        out.lines(("if (frames < 0 || results < 0)", "    return 64;"))
    first = identifier(made.members[0].model.name)
    file = "frames" if made.emulated else ""
    out.line(f"while ((frame = read_{first}({file})) == 1) {{")
    with out.indent():
        out.lines(_CLEAR.split("\n") if made.emulated else ())
        out.lines(made.phases((_Reading(made), made.run, _Writing(made))))
    out.line("}")
    out.line(f"status = {bundle}_stop();")
    if made.emulated:
        closed = f"{made.whole.port.prefix}_close(results)"
        out.lines((f"if (frame < 0 || {closed} != 0 || !write_profile())", "    return 64;"))
        out.line("return (int)status;")
    else:
        out.line("return frame < 0 || fflush(stdout) != 0 ? 64 : (int)status;")


@frozen
class _Reading:
    """The statements that read the frame of a model; that of the first one is read by the loop."""

    made: _Programs

    def __call__(self, member: EmitInputs) -> list[str]:
        if member is self.made.members[0]:
            return []
        file = "frames" if self.made.emulated else ""
        return [f"if (read_{identifier(member.model.name)}({file}) != 1)", "    return 64;"]


@frozen
class _Writing:
    """The statements that write the results of a model."""

    made: _Programs

    def __call__(self, member: EmitInputs) -> list[str]:
        file = "results" if self.made.emulated else ""
        return [f"if (!write_{identifier(member.model.name)}({file}))", "    return 64;"]


def models_selftest(whole: EmitInputs, members: Sequence[EmitInputs], pools: ModelPools) -> str:
    """A program that runs the vector of every model that has one, twice in turn."""
    tested = tuple(member for member in members if member.self_test is not None)
    every = _programs(whole, members, pools)
    made = _Programs(whole=whole, members=tested, kept=every.kept, first=every.first)
    out = Emitter()
    out.block(_SELFTEST_HEAD.format(names=made.names))
    _includes(out, made, () if made.emulated else ("stdio.h",))
    _profile(out, every)
    for member in tested:
        _vectors(out, member, _test_of(member))
    outs = [one for member in tested for one in split(member)[1]]
    for dtype, c_type in sorted({one.tensor.dtype: one.c_type for one in outs}.items()):
        out.block(host.ELEMENT_AT.format(dtype=dtype, c_type=c_type))
    out.block(host.comparison(whole))
    _failed(out, made, "2")
    out.lines(("", *(["int main(void);"] if made.emulated else []), "int main(void)", "{"))
    with out.indent():
        _selftest_body(out, made)
    out.line("}")
    return out.text()


def _selftest_body(out: Emitter, made: _Programs) -> None:
    bundle = made.whole.stem
    out.line("int passed = 1, round;")
    out.lines(["uint32_t word;", "uint64_t since;"] if made.emulated else [])
    out.line(f"ta_status status = {bundle}_init(&ta_port_{made.whole.port.name});")
    out.lines(("if (status != TA_OK)", '    return failed("init", status);'))
    out.line("for (round = 0; round < 2; round++) {")
    with out.indent():
        out.lines(_CLEAR.split("\n") if made.emulated else ())
        out.lines(made.phases((_given, made.run, _compared)))
    out.line("}")
    out.line(f"status = {bundle}_stop();")
    out.lines(("if (status != TA_OK)", '    return failed("stop", status);'))
    if made.emulated:
        out.lines(("if (!write_profile())", "    return 2;"))
    out.line("return passed ? 0 : 1;")


def _given(member: EmitInputs) -> list[str]:
    model = identifier(member.model.name)
    return [
        f"memcpy({one.function}(), {model}_given_{one.number}, {one.macro}_BYTES);"
        for one in split(member)[0]
    ]


def _compared(member: EmitInputs) -> list[str]:
    model = identifier(member.model.name)
    out = Emitter()
    for one, tolerance in zip(split(member)[1], _test_of(member).tolerances, strict=True):
        label = f"{member.model.name} {one.tensor.name}"
        host.write_comparison(out, one, label, f"{model}_expected_{one.number}", tolerance)
    return out.text().splitlines()


def _vectors(out: Emitter, member: EmitInputs, test: SelfTest) -> None:
    model = identifier(member.model.name)
    ins, outs = split(member)
    out.line()
    out.line(f"/* `{comment(member.model.name)}`; reference: {comment(test.reference)}. */")
    for one, data in zip(ins, test.inputs, strict=True):
        host.write_array(out, f"{model}_given_{one.number}", one, data)
    for one, data in zip(outs, test.outputs, strict=True):
        host.write_array(out, f"{model}_expected_{one.number}", one, data)


def _test_of(member: EmitInputs) -> SelfTest:
    assert member.self_test is not None
    return member.self_test


def _includes(out: Emitter, made: _Programs, system: Sequence[str]) -> None:
    out.lines(f"#include <{header}>" for header in (() if made.emulated else system))
    out.lines(("", f"#include <{made.whole.stem}.h>", ""))
    if made.emulated:
        out.line(made.whole.port.include)
        out.line()
        out.lines(f"extern const ta_bundle {bundle_symbol(member)};" for member in made.members)
    elif made.whole.port.hosted.complains or "stdlib.h" in system:
        out.line(made.whole.port.include)


def _profile(out: Emitter, made: _Programs) -> None:
    if made.emulated:
        out.block(machine.profile(made.whole, made.steps))


def _failed(out: Emitter, made: _Programs, answer: str) -> None:
    text = _MACHINE_FAILED if made.emulated else _FAILED
    names = {"bundle": made.whole.stem, "port": made.whole.port.prefix}
    out.block(text.format(**names, answer=answer, complaint=host.complaint(made.whole)))
