"""Einstein sums against NumPy's, their names, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba,ca", (2, 3), (4, 3)),
    ("ii", (3, 3)),
    ("iij->ji", (3, 3, 2)),
    ("ij->ji", (2, 3)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...i,...i->...", (5, 2, 3), (2, 3)),
    ("i...,i...->...", (3, 4), (3, 2, 4)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
    ("bi,bi->b", (3, 4), (3, 4)),
    ("i,j->ij", (3,), (4,)),
    ("i,ij,j->", (3,), (3, 4), (4,)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 2)),
    ("abc,cd->abd", (2, 3, 4), (4, 5)),
    ("abc,ad,cd->b", (2, 3, 4), (2, 5), (4, 5)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("ij,k->ij", (3, 4), (5,)),
    (",ij->ji", (), (3, 4)),
    ("aab,bcc->ac", (3, 3, 2), (2, 4, 4)),
    ("ij,jk->ik", (0, 3), (3, 4)),
    ("ij,jk->ik", (2, 0), (0, 4)),
]


def _numbers(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize(("equation", "shapes"), [(one[0], one[1:]) for one in EQUATIONS])
def test_against_numpy(equation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = _numbers(*shapes)
    got = wb.einsum(equation, *[wb.from_numpy(one) for one in arrays])
    np.testing.assert_allclose(got.numpy(), np.einsum(equation, *arrays), atol=1e-12)


def test_sizes_of_one_broadcast() -> None:
    a, b = _numbers((2, 1), (3, 4))
    got = wb.einsum("ij,jk->ik", wb.from_numpy(a), wb.from_numpy(b))
    np.testing.assert_allclose(got.numpy(), np.repeat(a, 3, 1) @ b, atol=1e-12)


def test_lists_of_numbers() -> None:
    a, b = _numbers((2, 3), (3, 4))
    x, y = wb.from_numpy(a), wb.from_numpy(b)
    np.testing.assert_allclose(wb.einsum(x, [0, 1], y, [1, 2], [0, 2]).numpy(), a @ b)
    np.testing.assert_allclose(wb.einsum(x, [0, 51], y, [51, 2]).numpy(), a @ b)
    np.testing.assert_allclose(wb.einsum(x, [..., 0], y, [0, 2], [..., 2]).numpy(), a @ b)
    np.testing.assert_allclose(wb.einsum("ij,jk", [x, y]).numpy(), a @ b)


def test_words_are_checked_against_names() -> None:
    x, w = wb.ones(batch=2, time=5, channel=3), wb.ones(3, 4)
    out = wb.einsum("batch time channel, channel out -> batch time out", x, w)
    assert out.names == ("batch", "time", None)
    with pytest.raises(wb.DimensionError, match="is called 'time' in operand 0"):
        wb.einsum("batch channel time, time out -> batch channel out", x, wb.ones(3, 4))
    with pytest.raises(wb.DimensionError, match="misspelling"):
        wb.einsum("batch time chanel, chanel out -> batch time out", x, w)


def test_letters_are_checked_against_names() -> None:
    x, w = wb.ones(N=2, C=3), wb.ones(C=3, K=4)
    assert wb.einsum("N C, C K -> N K", x, w).names == ("N", "K")
    assert wb.einsum("nc,ck->kn", x, w).names == ("K", "N")
    with pytest.raises(wb.DimensionError, match="has another dim called 'C'"):
        wb.einsum("CN,NK->CK", x, wb.ones(3, 4))
    with pytest.raises(wb.DimensionError, match="stands under subscript"):
        wb.einsum("ij,jk->ik", wb.ones(N=3, C=3), wb.ones(C=3, N=3).rename(C="D"))
    with pytest.raises(wb.DimensionError, match="is called 'N' in operand 0 and 'M' in operand 1"):
        wb.einsum("ij,ij->i", wb.ones(N=2, C=3), wb.ones(M=2, C=3))


def test_contracted_dims_may_be_called_differently() -> None:
    assert wb.einsum("ni,oi->no", wb.ones(N=2, C=3), wb.ones(out=4, features=3)).names == ("N", "out")


@pytest.mark.parametrize(
    ("equation", "shapes", "words"),
    [
        ("ij,jk", ((3, 3), (4, 2)), "subscript j has size 4 for operand 1 which does not broadcast"),
        (
            "ijk",
            ((3, 3),),
            r"the number of subscripts in the equation \(3\) does not match the number of dimensions",
        ),
        ("i,j", ((3,),), "fewer operands were provided"),
        ("i", ((3,), (3,)), "more operands were provided"),
        ("i->ij", ((3,),), "output subscript j does not appear"),
        ("i->ii", ((3,),), "output subscript i appears more than once"),
        ("i$->i", ((3,),), "invalid subscript given at index 1"),
        ("ii->i", ((2, 3),), "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
        ("..i->i", ((3, 3),), "found '.' for operand 0 that is not part of any ellipsis"),
        ("...i...->i", ((3, 3),), "for which an ellipsis was already found"),
    ],
)
def test_refusals(equation: str, shapes: tuple[tuple[int, ...], ...], words: str) -> None:
    with pytest.raises(wb.DimensionError, match=words):
        wb.einsum(equation, *[wb.ones(*shape) for shape in shapes])
    with pytest.raises(ValueError, match="must specify the equation string"):
        wb.einsum(equation)


def test_gradient_of_a_diagonal_and_a_sum() -> None:
    x = wb.from_numpy(_numbers((3, 3))[0]).requires_grad_()
    wb.einsum("ii->", x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.eye(3))
