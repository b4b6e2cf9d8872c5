"""The rules for descriptions that were built in Python."""

from attrs import evolve

from target_arch.soc import SoC, TargetArch, check_soc, read_soc, shipped_socs


def rules(soc: SoC) -> list[str]:
    return [diagnostic.rule for diagnostic in check_soc(soc)]


def zynq() -> SoC:
    return read_soc("zynq_edge")


def with_arch(soc: SoC, name: str, **changes: object) -> SoC:
    def changed(arch: TargetArch) -> TargetArch:
        return evolve(arch, **changes) if arch.name == name else arch

    return evolve(soc, archs=tuple(changed(arch) for arch in soc.archs))


def test_shipped_socs_are_right() -> None:
    assert [check_soc(read_soc(name)) for name in shipped_socs()] == [()] * len(shipped_socs())


def test_a_place_is_told_in_words() -> None:
    soc = zynq()
    copies = (evolve(soc.copies[0], target="srma"), *soc.copies[1:])
    (found,) = check_soc(evolve(soc, copies=copies))
    assert str(found) == (
        "copy[0].to: error: memory `srma` is not declared [unknown-memory]\nhint: did you mean `sram`?"
    )


def test_single_values_are_judged_first() -> None:
    soc = zynq()
    memories = (evolve(soc.memories[0], size=-1, latency=float("nan")), *soc.memories[1:])
    assert rules(evolve(soc, memories=memories, name="two words")) == [
        "bad-identifier",
        "out-of-range",
        "out-of-range",
    ]
    assert rules(evolve(soc, dmas=(evolve(soc.dmas[0], channels=10**12),))) == ["out-of-range"]


def test_relations() -> None:
    soc = zynq()
    assert rules(with_arch(soc, "dsp_cpu", host=True)) == ["two-hosts", "host-load", "host-address"]
    assert rules(with_arch(soc, "dsp_cpu", device=soc.arch("host_cpu").device)) == ["same-device"]
    assert rules(evolve(soc, copies=soc.copies[:2])) == [
        "unused-dma",
        "unused-dma",
        "unreachable-memory",
        "unreachable-memory",
        "unreachable-memory",
        "unreachable-memory",
        "unreachable-memory",
        "no-way-back",
        "no-way-back",
        "no-way-back",
    ]


def test_what_toml_forbids_is_found_here() -> None:
    soc = zynq()
    assert rules(evolve(soc, memories=(*soc.memories, soc.memories[0]))) == ["duplicate-key"]


def test_names_that_differ_in_case_clash() -> None:
    soc = zynq()
    upper = evolve(soc.memory("sram"), name="SRAM", base=0x9000_0000)
    assert rules(evolve(soc, memories=(*soc.memories, upper))) == ["name-clash"]
