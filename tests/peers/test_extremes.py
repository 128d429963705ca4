"""Every function at infinities, NaN, zeros of both signs, the smallest numbers and the largest, forward and gradient.

Where PyTorch's result in a type differs from ours, its result in double precision decides, rounded to that type: what
overflows or loses its digits on the way in PyTorch need not do so here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from tests.peers.extremes import CASES, KNOWN, VALUES, VECTORS, Case  # noqa: E402
from tests.peers.op_db.judge import _array, theirs  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

TOLERANCES = {
    torch.float32: (1e-5, 1e-44),
    torch.float64: (1e-7, 5e-324),
    torch.float16: (4e-3, 2e-7),
    torch.bfloat16: (2e-2, 1e-40),
}
"""Relative and absolute, by type; values brought together are held to the largest of them, see `_differ`. Of gradients
what is below the smallest normal number may be 0."""

TIMES = 700
"""How often the values stand behind one another: compiled kernels run on many values only."""


def _flat(result: Any) -> list[Any]:
    return [leaf for one in result for leaf in _flat(one)] if isinstance(result, tuple | list) else [result]


def _run(library: Any, case: Case, leaves: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return results and gradients for ones, both as torch tensors."""
    out = _flat(case.call(library, *leaves))
    ends = [one for one in out if one.requires_grad]
    got: Any = []
    if ends:
        got = library.autograd.grad(
            ends, leaves, [library.ones_like(one.detach()) for one in ends], allow_unused=True
        )
    gradients = [
        library.zeros_like(x.detach()) if g is None else g for g, x in zip(got, leaves, strict=False)
    ]
    plain = (lambda one: one.detach()) if library is torch else theirs
    return [plain(one) for one in out], [plain(one) for one in gradients]


def _differ(mine: Any, other: Any, dtype: Any, together: bool, gradient: bool) -> Any:
    """Say where two results differ; those of several values together are as precise as the largest of them."""
    if mine.shape != other.shape or mine.dtype != other.dtype:
        return torch.ones_like(other, dtype=torch.bool)
    if not other.dtype.is_floating_point:
        return mine != other
    relative, absolute = TOLERANCES[dtype]
    if gradient:
        absolute = max(absolute, torch.finfo(dtype).tiny)
    if together:  # and as 1, which is what comes together in a gradient
        absolute = max(absolute, relative * 1e-2)
    a, b = mine.double(), other.double()
    finite = b[b.isfinite()]
    scale = finite.abs().max() if together and finite.numel() else torch.tensor(0.0)
    near = (a - b).abs() <= absolute + relative * torch.maximum(b.abs(), scale)
    return ~((a == b) | (a.isnan() & b.isnan()) | (near & b.isfinite()))


def _inputs(kind: str, dtype: Any) -> Iterator[list[Any]]:
    values = torch.tensor(VALUES, dtype=torch.float64).to(dtype)
    if kind == "unary":
        yield [values]
        yield [values.repeat(TIMES)]
    elif kind == "binary":
        yield [one.contiguous() for one in torch.broadcast_tensors(values[:, None], values[None])]
    else:
        for vector in VECTORS:
            yield [torch.tensor(vector, dtype=torch.float64).to(dtype)]


def _failures(case: Case, dtype: Any) -> Iterator[str]:
    for given in _inputs(case.kind, dtype):
        try:
            expected = _run(torch, case, [one.clone().requires_grad_() for one in given])
        except (RuntimeError, NotImplementedError):
            return  # what PyTorch has not in this type
        precise = _run(torch, case, [one.double().requires_grad_() for one in given])
        mine = _run(wb, case, [wb.from_numpy(_array(one)).requires_grad_() for one in given])
        for part, own, peer, exact in zip(("value", "gradient"), mine, expected, precise, strict=True):
            if not (own and peer) and part == "gradient":
                continue  # one of the two has none
            assert len(own) == len(peer)
            for k, (a, b, c) in enumerate(zip(own, peer, exact, strict=True)):
                how = (dtype, case.kind == "vector" and part == "gradient", part == "gradient")
                bad = _differ(a, b, *how)
                if bad.any() and a.shape == c.shape:
                    bad &= _differ(a, c.to(b.dtype), *how)
                if bad.any():
                    yield f"{part} {k}: {_first(given, a, b, c, bad)}"


def _first(given: list[Any], mine: Any, other: Any, exact: Any, bad: Any) -> str:
    at = tuple(bad.nonzero()[0].tolist())
    source = [x[at].item() if x.shape == bad.shape else x.tolist()[:9] for x in given]
    shown = f"{mine[at].item()}, PyTorch has {other[at].item()}" if mine.shape == other.shape else "a shape"
    return f"at {source} {shown}, in double precision {exact[at].item()} ({int(bad.sum())} such)"


@pytest.mark.parametrize("name", CASES)
def test_at_extreme_values(name: str) -> None:
    found = [
        f"{str(dtype).removeprefix('torch.')} {one}"
        for dtype in TOLERANCES
        for one in _failures(CASES[name], dtype)
    ]
    parts = KNOWN[name].parts if name in KNOWN else ""
    unknown = [one for one in found if one.split()[1] not in parts]
    assert not unknown, "\n".join(unknown[:12])
    for part in parts.split():
        assert any(one.split()[1] == part for one in found), (
            f"declared as other than PyTorch's: {part} passes"
        )


def test_what_is_declared_is_run() -> None:
    assert set(KNOWN) <= set(CASES)
