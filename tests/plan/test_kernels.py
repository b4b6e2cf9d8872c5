"""Slices and operands under another name are the same in everything else."""

from attrs import asdict, fields

from target_arch.plan.kernels import Operand, Slice


def test_renamed_changes_the_name_alone() -> None:
    part = Slice(of="a", offset=3, row_bytes=4, rows=5, stride=6)
    operand = Operand(of="a", access="rw", offset=3, over=("b",), smaller=True, bytes=4, rows=5, stride=6)
    for value in (part, operand):
        for each in fields(type(value)):
            assert getattr(value, each.name) != each.default, f"say something of `{each.name}` above"
        assert asdict(value.renamed("c")) == {**asdict(value), "of": "c"}


def test_an_operand_touches_its_rows() -> None:
    assert str(Operand(of="a", access="w", offset=16).touched(64)) == "a[16:+48]"
    assert (
        str(Operand(of="a", access="w", offset=16, bytes=8, rows=3, stride=24).touched(96)) == "a[16:+3x8/24]"
    )
