"""What is wrong is refused before anything is changed, in words that say what was given and what would work."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
import workbench.nn.functional as F
from workbench.base.errors import AutogradError, DeviceError, DimensionError, DimensionIndexError, DTypeError

HUGE = 2**40
Case = tuple[Callable[[], Any], type[Exception], str]


def i(*values: int) -> wb.Tensor:
    return wb.tensor(list(values))


SHAPES: list[Case] = [
    (lambda: wb.zeros(2, 3) + wb.zeros(2, 4), DimensionError, "must match the size|size 3.*size 4|3.*4"),
    (lambda: wb.zeros(2, 3) @ wb.zeros(2, 3), DimensionError, "3.*2|cannot be multiplied"),
    (lambda: wb.zeros(2) @ wb.zeros(3), DimensionError, "2.*3"),
    (lambda: wb.tensor(1.0) @ wb.tensor(1.0), DimensionError, "1D"),
    (lambda: wb.zeros(2, 3).mm(wb.zeros(3)), DimensionError, "2-?D|matrix|matrices"),
    (lambda: wb.zeros(3).view(2, 2), DimensionError, r"\[2, 2\].*3|3.*\[2, 2\]|invalid for input of size 3"),
    (lambda: wb.zeros(3).view(-1, -1), DimensionError, "only one dimension can be inferred"),
    (lambda: wb.zeros(0).view(-1, 0), DimensionError, "unspecified dimension size -1|ambiguous|-1"),
    (lambda: wb.zeros(3).expand(2), DimensionError, "must match the existing size"),
    (lambda: wb.zeros(3).expand(-1, 3), DimensionError, "isn't allowed in a leading"),
    (lambda: wb.cat([wb.zeros(2, 3), wb.zeros(3, 2)]), DimensionError, "3.*2"),
    (lambda: wb.cat([]), DimensionError, "non-empty list of tensors"),
    (lambda: wb.stack([wb.zeros(2), wb.zeros(3)]), DimensionError, "2.*3|equal size"),
    (lambda: wb.zeros(3).split([1, 1]), DimensionError, "3"),
    (lambda: wb.zeros(3).split(-1), (RuntimeError, ValueError), "-1|non-negative"),
    (lambda: wb.zeros(3).chunk(0), (RuntimeError, ValueError), "greater than 0|0"),
    (lambda: wb.zeros(3).unfold(0, 5, 1), RuntimeError, "5.*3|3.*5"),
    (lambda: wb.zeros(6).unflatten(0, (4, 2)), RuntimeError, "6"),
    (lambda: wb.zeros(3).as_strided((3, 3), (2, 2)), RuntimeError, "out of bounds|memory|storage|3"),
    (lambda: wb.cdist(wb.zeros(2, 3), wb.zeros(2, 4)), DimensionError, "3.*4|4.*3|same number"),
    (lambda: F.layer_norm(wb.zeros(2, 3), (4,)), DimensionError, r"\[4\]|4"),
    (lambda: F.cross_entropy(wb.zeros(2, 3), i(0, 1, 2)), DimensionError, "batch_size"),
    (lambda: F.pad(wb.zeros(3), (-2, -2)), DimensionError, "negative"),
    (lambda: F.pad(wb.zeros(3), (1,)), DimensionError, "even"),
    (lambda: F.pad(wb.zeros(1, 1, 3), (3, 3), mode="reflect"), DimensionError, "less than the corresponding"),
    (lambda: wb.masked_fill(wb.zeros(3), wb.tensor([True, False]), 1), DimensionError, "3.*2|2.*3"),
    (lambda: wb.tril(wb.zeros(3)), DimensionError, "2"),
    (lambda: wb.fft.fft(wb.zeros(3), n=0), RuntimeError, r"Invalid number of data points \(0\)"),
]

DIMS: list[Case] = [
    (lambda: wb.zeros(3).sum(5), DimensionIndexError, r"5.*\[-1, 0\]|range"),
    (lambda: wb.zeros(3).sum(-2), DimensionIndexError, "-2"),
    (lambda: wb.zeros(3, 3).transpose(0, 2), DimensionIndexError, "2"),
    (lambda: wb.zeros(3).unsqueeze(5), DimensionIndexError, "5"),
    (lambda: wb.zeros(3).squeeze(5), DimensionIndexError, "5"),
    (lambda: wb.zeros(3).softmax(2), DimensionIndexError, "2"),
    (lambda: wb.zeros(3).select(0, 3), IndexError, "3"),
    (lambda: wb.zeros(3).diagonal(), IndexError, "1|range"),
    (lambda: wb.zeros(3, 3).sum((0, 0)), RuntimeError, "dim 0 appears multiple times|0"),
    (lambda: wb.zeros(3, 3).permute(0, 0), RuntimeError, "must name each of the 2 dims once"),
    (lambda: wb.zeros(3, 3).permute(0), RuntimeError, "must name each of the 2 dims once"),
    (lambda: wb.zeros(3).flip((0, 0)), RuntimeError, "multiple times|twice|0"),
    (lambda: wb.zeros(N=3).sum("C"), RuntimeError, "'?C'?.*N|N.*C"),
    (lambda: wb.zeros(N=3, C=2) + wb.zeros(C=3, N=2), DimensionError, "align_as"),
    (lambda: wb.zeros(3)[3], IndexError, "3.*3"),
    (lambda: wb.zeros(3)[0, 0], IndexError, "too many indices"),
    (lambda: wb.zeros(3)[i(5)], IndexError, "5.*3|out of"),
    (lambda: wb.zeros(3)[wb.tensor([True, False])], IndexError, "mask"),
    (lambda: wb.gather(wb.zeros(3), 0, i(5)), (IndexError, RuntimeError), "5.*3|out of bounds"),
    (lambda: wb.index_select(wb.zeros(3), 0, i(-1)), IndexError, "-1|out of range"),
    (lambda: F.embedding(i(5), wb.zeros(3, 2)), IndexError, "5|out of range"),
    (lambda: F.one_hot(i(5), 3), RuntimeError, "5|smaller than num_classes"),
    (lambda: F.cross_entropy(wb.zeros(2, 3), i(0, 5)), IndexError, "5"),
    (lambda: wb.topk(wb.zeros(3), 5), RuntimeError, "5|range"),
    (lambda: wb.kthvalue(wb.zeros(3), 0), RuntimeError, "0|range"),
]

TYPES: list[Case] = [
    (lambda: wb.mean(i(1, 2)), RuntimeError, "(?i)float|int64|long"),
    (lambda: wb.tensor([True]) - wb.tensor([True]), DTypeError, "bool"),
    (lambda: wb.tensor([True]) - True, DTypeError, "bool"),
    (lambda: -wb.tensor([True]), (DTypeError, RuntimeError), "bool"),
    (lambda: wb.tensor([1.0]) & wb.tensor([2.0]), DTypeError, r"float32.*x\.long\(\)"),
    (lambda: wb.tensor([1j]) < wb.tensor([1.0]), DTypeError, r"abs\(\), real or imag"),
    (lambda: wb.zeros(3)[wb.tensor([0.5])], DTypeError, r"float32.*long\(\)"),
    (lambda: wb.where(i(1), i(1), i(2)), RuntimeError, "bool"),
    (lambda: wb.linalg.inv(wb.zeros(2, 2, dtype=wb.int64)), RuntimeError, "(?i)float|long|int64"),
    (lambda: F.nll_loss(wb.zeros(2, 3), wb.tensor([0.0, 1.0])), RuntimeError, "(?i)float|int64|long"),
    (lambda: wb.fft.rfft(wb.zeros(3) + 0j), RuntimeError, "real input"),
    (lambda: i(1, 2).requires_grad_(), DTypeError, r"int64.*float\(\)"),
    (lambda: wb.zeros(3, dtype=wb.int64, requires_grad=True), DTypeError, "int64|floating point"),
    (lambda: wb.zeros(2, 2, dtype=wb.int64).add_(1.5), RuntimeError, "float32.*int64"),
    (lambda: wb.add(i(1), i(2), alpha=2.5), (RuntimeError, DTypeError), "2.5"),
    (lambda: i(1, 2) ** -1, RuntimeError, "negative"),
    (lambda: i(1) // i(0), RuntimeError, "ZeroDivisionError"),
    (lambda: wb.zeros(2.5), TypeError, "2.5"),
    (lambda: wb.zeros(3).to(dtype="nope"), (TypeError, ValueError, RuntimeError), "nope"),
    (lambda: wb.zeros(3, device="nope"), (DeviceError, RuntimeError), "nope"),
    (lambda: wb.zeros(3).to("nope"), (RuntimeError, TypeError), "nope"),
]

SIZES: list[Case] = [
    (lambda: wb.zeros(-1), DimensionError, "negative dimension -1"),
    (lambda: wb.ones(2, -3), DimensionError, "negative dimension -3"),
    (lambda: wb.randn(-1), DimensionError, "negative dimension -1"),
    (lambda: wb.eye(-1), DimensionError, "-1"),
    (lambda: wb.arange(0, 5, -1), ValueError, "inconsistent with step sign"),
    (lambda: wb.arange(0, 5, 0), ValueError, "nonzero"),
    (lambda: wb.arange(0.0, math.nan), ValueError, "unsupported range"),
    (lambda: wb.linspace(0, 1, -1), ValueError, "-1"),
    (lambda: wb.zeros(3).repeat(-1), DimensionError, "negative"),
    *(
        (call, DimensionError, "does not fit into any memory")
        for call in (
            lambda: wb.zeros(HUGE, HUGE),
            lambda: wb.empty(2**62, 4),
            lambda: wb.full((HUGE, HUGE), 1),
            lambda: wb.randn(HUGE, HUGE),
            lambda: wb.randint(0, 2, (HUGE, HUGE)),
            lambda: wb.eye(HUGE),
            lambda: wb.arange(2**62),
            lambda: wb.linspace(0, 1, 2**62),
            lambda: wb.zeros(1).expand(HUGE, HUGE),
            lambda: wb.broadcast_to(wb.zeros(1), (HUGE, HUGE)),
            lambda: wb.zeros(3).repeat(HUGE, HUGE),
            lambda: wb.zeros(3).repeat(2**62),
            lambda: wb.zeros(3).tile((HUGE, HUGE)),
            lambda: F.pad(wb.zeros(3), (2**62, 2**62)),
            lambda: F.pad(wb.zeros(1, 2, 3), (2**62, 2**62), mode="replicate"),
            lambda: wb.repeat_interleave(wb.zeros(3), 2**62),
            lambda: wb.repeat_interleave(wb.zeros(2), i(2**62, 2**62), dim=0),
        )
    ),
    (lambda: wb.zeros(3).reshape(HUGE, HUGE), DimensionError, "invalid for input of size 3|3"),
]

GEOMETRY: list[Case] = [
    (lambda: F.conv2d(wb.zeros(1, 3, 8, 8), wb.zeros(4, 2, 3, 3)), DimensionError, "3.*2|2.*3"),
    (lambda: F.conv2d(wb.zeros(1, 3, 2, 2), wb.zeros(4, 3, 3, 3)), DimensionError, "greater|larger|2.*3"),
    (lambda: F.conv2d(wb.zeros(3, 8), wb.zeros(4, 3, 3, 3)), DimensionError, "3D|4D|2"),
    (lambda: F.conv2d(wb.zeros(1, 3, 8, 8), wb.zeros(4, 3, 3, 3), stride=0), RuntimeError, "stride"),
    (lambda: F.conv2d(wb.zeros(1, 3, 8, 8), wb.zeros(4, 3, 3, 3), padding=-1), RuntimeError, "padding"),
    (lambda: F.conv2d(wb.zeros(1, 3, 8, 8), wb.zeros(4, 3, 3, 3), dilation=0), RuntimeError, "dilation"),
    (lambda: F.conv2d(wb.zeros(1, 3, 8, 8), wb.zeros(4, 3, 3, 3), groups=2), RuntimeError, "group"),
    (lambda: F.conv2d(wb.zeros(1, 3, 8, 8), wb.zeros(4, 3, 3, 3), wb.zeros(3)), RuntimeError, "bias"),
    (lambda: F.conv2d(wb.zeros(1, 3, 8, 8), wb.zeros(4, 3, 3, 3), padding="?"), ValueError, "valid.*same"),
    (
        lambda: F.conv2d(wb.zeros(1, 3, 8, 8), wb.zeros(4, 3, 3, 3), stride=2, padding="same"),
        RuntimeError,
        "strided",
    ),
    (lambda: F.max_pool2d(wb.zeros(1, 1, 4, 4), 5), RuntimeError, "size|small"),
    (lambda: F.max_pool2d(wb.zeros(1, 1, 4, 4), 2, padding=2), RuntimeError, "half|pad"),
    (lambda: F.max_pool2d(wb.zeros(1, 1, 4, 4), 0), RuntimeError, "kernel"),
    (lambda: F.interpolate(wb.zeros(1, 1, 4, 4), size=2, mode="?"), ValueError, "bilinear"),
    (lambda: F.interpolate(wb.zeros(1, 1, 4, 4)), ValueError, "size|scale_factor"),
    (lambda: wb.einsum("ij,jk", wb.zeros(2, 3), wb.zeros(4, 5)), RuntimeError, "'?j'?|3.*4"),
    (lambda: wb.einsum("ij->k", wb.zeros(2, 3)), RuntimeError, "k"),
    (lambda: wb.einsum("ijk", wb.zeros(2, 3)), RuntimeError, "ijk|3|number"),
    (lambda: wb.einsum("i1", wb.zeros(2, 3)), RuntimeError, "1"),
    (lambda: wb.einsum("ij,jk->ik", wb.zeros(2, 3)), (RuntimeError, ValueError), "operand"),
    (lambda: wb.einsum("ij->ii", wb.zeros(2, 3)), RuntimeError, "i"),
]

VALUES: list[Case] = [
    (lambda: wb.max(wb.zeros(0)), RuntimeError, "(?i)empty|no identity|dim"),
    (lambda: wb.amax(wb.zeros(0, 3), 0), (RuntimeError, IndexError), "non-zero size|empty|size 0"),
    (lambda: wb.argmax(wb.zeros(0)), (RuntimeError, IndexError), "empty|specify|non-zero|dim"),
    (lambda: wb.min(wb.zeros(0, 3), 0), (RuntimeError, IndexError), "non-zero size|empty|size 0"),
    (lambda: wb.mode(wb.zeros(0), 0), (RuntimeError, IndexError), "non-zero size|empty|size 0"),
    (lambda: wb.linalg.inv(wb.zeros(2, 2)), wb.linalg.LinAlgError, "diagonal element 1 is zero.*singular"),
    (lambda: wb.linalg.solve(wb.zeros(2, 2), wb.zeros(2)), wb.linalg.LinAlgError, "singular"),
    (
        lambda: wb.linalg.cholesky(-wb.eye(2)),
        wb.linalg.LinAlgError,
        "leading minor of order 1.*positive-definite",
    ),
    (lambda: wb.linalg.inv(wb.zeros(2, 3)), RuntimeError, "square"),
    (lambda: wb.linalg.svd(wb.zeros(3)), RuntimeError, "2 dimensions|matrix|matrices"),
    (lambda: wb.linalg.eigh(wb.eye(2), UPLO="X"), (RuntimeError, ValueError), "'L' or 'U'"),
    (lambda: wb.linalg.norm(wb.eye(2), "nope"), (RuntimeError, ValueError), "nope"),
    (lambda: wb.quantile(wb.zeros(3), 1.5), (RuntimeError, ValueError), r"\[0, 1\]"),
    (lambda: wb.multinomial(wb.tensor([1.0, 1.0]), 3), ValueError, "replacement=True"),
    (lambda: wb.multinomial(wb.tensor([-1.0, 1.0]), 1), ValueError, "< 0"),
    (lambda: wb.bernoulli(wb.tensor([1.5])), ValueError, r"\[0, 1\]"),
    (lambda: F.dropout(wb.zeros(3), 1.5), ValueError, "1.5"),
    (lambda: wb.normal(0.0, -1.0, (2,)), ValueError, "-1"),
    (lambda: wb.randint(5, 5, (2,)), ValueError, "5"),
    (lambda: wb.bincount(i(-1)), (RuntimeError, ValueError), "negative"),
    (lambda: wb.clamp(wb.zeros(3)), ValueError, "'min' or 'max'"),
    (lambda: wb.div(i(1), i(2), rounding_mode="?"), ValueError, "'trunc', or 'floor'"),
    (lambda: wb.fft.fft(wb.zeros(3), norm="foo"), RuntimeError, 'Invalid normalization mode: "foo"'),
    (lambda: bool(wb.tensor([1.0, 2.0])), RuntimeError, "ambiguous"),
    (lambda: wb.tensor([1.0, 2.0]).item(), RuntimeError, "2 elements"),
]


@pytest.mark.parametrize("case", [*SHAPES, *DIMS, *TYPES, *SIZES, *GEOMETRY, *VALUES])
def test_refusal(case: Case) -> None:
    call, error, words = case
    with pytest.raises(error, match=rf"(?s){words}") as caught:
        call()
    said = str(caught.value)
    assert "numpy" not in said and "ufunc" not in said and len(said) > 10


EMPTY: list[tuple[Callable[[wb.Tensor], wb.Tensor], float]] = [
    (wb.sum, 0.0),
    (wb.prod, 1.0),
    (wb.mean, math.nan),
    (wb.var, math.nan),
    (wb.all, 1.0),
    (wb.any, 0.0),
    (wb.norm, 0.0),
    (lambda x: x.logsumexp(0), -math.inf),
    (wb.median, math.nan),
    (wb.nansum, 0.0),
]


@pytest.mark.parametrize(("function", "expected"), EMPTY)
def test_reductions_of_nothing(function: Any, expected: float) -> None:
    np.testing.assert_equal(float(function(wb.zeros(0))), expected)


CHANGES: list[tuple[Callable[[wb.Tensor], Any], type[Exception]]] = [
    (lambda x: x.add_(wb.ones(2, 3)), DimensionError),
    (lambda x: x.add_(1j), RuntimeError),
    (lambda x: x.copy_(wb.ones(4)), DimensionError),
    (lambda x: x.__setitem__(5, 1.0), IndexError),
    (lambda x: x.__setitem__(wb.tensor([0, 5]), 1.0), IndexError),
    (lambda x: x.__setitem__(slice(0, 2), wb.ones(3)), DimensionError),
    (lambda x: x.__setitem__(0, "text"), (TypeError, ValueError)),
    (lambda x: x.index_add_(0, wb.tensor([0, 5]), wb.ones(2)), (IndexError, RuntimeError)),
    (lambda x: x.scatter_(0, wb.tensor([0, 5]), wb.ones(2)), (IndexError, RuntimeError)),
    (lambda x: x.masked_fill_(wb.tensor([True]).expand(2), 1.0), DimensionError),
    (lambda x: x.masked_scatter_(wb.tensor([True, True, True]), wb.ones(2)), RuntimeError),
    (lambda x: x.clamp_(), ValueError),
    (lambda x: x.index_copy_(0, wb.tensor([7]), wb.ones(1)), (IndexError, RuntimeError)),
    (lambda x: wb.add(x, wb.ones(3, dtype=wb.complex64), out=x), RuntimeError),
    (lambda x: wb.sort(x, out=(x,)), TypeError),
    (lambda x: x.bernoulli_(2.0), (ValueError, RuntimeError)),
    (lambda x: x.normal_(0.0, -1.0), (ValueError, RuntimeError)),
    (lambda x: x.unsqueeze_(7), IndexError),
    (lambda x: setattr(x, "grad", wb.ones(2)), DimensionError),
    (lambda x: setattr(x, "names", ("A", "B")), RuntimeError),
]


@pytest.mark.parametrize(("change", "error"), CHANGES)
def test_what_is_refused_changes_nothing(change: Any, error: Any) -> None:
    x = wb.tensor([1.0, 2.0, 3.0])
    x.grad = wb.ones(3)
    before = (x._version, x.tolist(), x.shape, x.names, x.grad.tolist(), x.grad._version)
    with pytest.raises(error):
        change(x)
    assert (x._version, x.tolist(), x.shape, x.names, x.grad.tolist(), x.grad._version) == before


def test_a_freed_graph() -> None:
    x = wb.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(AutogradError, match=r"second time.*'mul'.*retain_graph=True"):
        y.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: (x * 2).backward(), r"only for scalar outputs.*loss\.sum\(\)\.backward\(\)"),
        (lambda x: (x * 2).backward(wb.ones(2)), r"\[2\].*\[3\]"),
        (lambda x: x.detach().sum().backward(), "does not require grad"),
        (lambda x: (x.sum() * (1 + 1j)).backward(), "only for real scalar outputs.*complex64"),
        (lambda x: wb.autograd.grad(x.sum(), wb.ones(1, requires_grad=True)), "allow_unused=True"),
        (lambda x: wb.autograd.grad(x.sum(), wb.ones(1)), "does not require grad"),
        (lambda x: x.add_(1), "leaf Variable that requires grad"),
        (lambda x: x[0:2].add_(1), "view of a leaf"),
        (lambda x: x.__setitem__(0, 1.0), "leaf Variable that requires grad"),
        (lambda x: wb.add(x, 1, out=wb.zeros(3)), "out="),
        (lambda x: x.numpy(), r"detach\(\)\.numpy\(\)"),
        (lambda x: (x * 2).requires_grad_(False), "leaf variables"),
    ],
)
def test_gradients_that_cannot_be(call: Any, words: str) -> None:
    x = wb.ones(3, requires_grad=True)
    with pytest.raises(AutogradError, match=rf"(?s){words}"):
        call(x)
    assert x.grad is None and x._version == 0 and x.tolist() == [1.0, 1.0, 1.0]


def test_an_overwritten_saved_tensor() -> None:
    x = wb.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(
        AutogradError, match=r"input \d of 'mul' \(shape \[3\]\) is at version 1; expected version 0"
    ):
        z.sum().backward()
    assert x.grad is None


def test_nan_under_anomaly_mode_names_the_op_and_the_line() -> None:
    x = wb.tensor([-1.0], requires_grad=True)
    with wb.autograd.detect_anomaly():
        y = (x * 0).sqrt() * 0  # the line
        with pytest.raises(RuntimeError, match=r"(?s)'?(sqrt|mul|div)'?.*test_tensor_core\.py"):
            y.sum().backward()
    assert x.grad is None
