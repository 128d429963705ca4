"""The type of a tensor given as ``out=``: every function that takes one, with tensors of all types, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import workbench as wb
from workbench.ops import offers

torch = pytest.importorskip("torch")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.peers.op_db.judge import DTYPES, samples_of, translated  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

INPUTS = (torch.float32, torch.int64, torch.complex64, torch.bool)
OUTS = (
    torch.float64, torch.float32, torch.float16, torch.complex128, torch.complex64,
    torch.int64, torch.int32, torch.uint8, torch.bool,
)  # fmt: skip

ENTRIES: dict[str, list[Any]] = {}
"""Entries of the op database by the names of what they call, aliases too."""
for _entry in op_db:
    for _name in {_entry.name, *(one.name for one in _entry.aliases)}:
        ENTRIES.setdefault(_name, []).append(_entry)

X, SQUARE = torch.tensor([[3.0, 1.0], [2.0, 5.0]]), torch.tensor([[2.0, 1.0], [1.0, 2.0]])
CALLS: dict[str, tuple[Any, ...]] = {
    "sum": (X, 1),
    "prod": (X, 1),
    "argsort": (X, 1),
    "median": (X, 1),
    "nanmedian": (X, 1),
    "chain_matmul": (X, SQUARE),
    "inverse": (SQUARE,),
    "special.logsumexp": (X, 1),
    "special.gammainc": (X, X),
    "special.gammaincc": (X, X),
    "special.polygamma": (1, X),
    "polygamma": (1, X),
    "slogdet": (X,),
    "std": (X, 1),
    "var": (X, 1),
}
"""What the database has no samples with ``out=`` of."""

NAMES = sorted({f"{one.place}.{one.name}" for one in offers() if one.out and one.place != "Tensor"})

_KIND = "PyTorch takes the kinds of numbers that the result has; here a real result goes into a complex tensor too"
_SUMMED = "PyTorch computes in the type of out=; here dtype= says that. Without dim= it takes no out="
_TRUTH = "PyTorch takes bool and uint8; here what a bool can be cast to"
DIFFERENCES: dict[str, str] = {
    **dict.fromkeys(
        [f"fft.{name}" for name in ("hfft", "hfft2", "hfftn", "irfft", "irfft2", "irfftn")], _KIND
    ),
    **dict.fromkeys(("nanmean", "nansum"), _KIND),
    **dict.fromkeys(("sum", "prod", "cumsum", "cumprod", "std", "var"), _SUMMED),
    **dict.fromkeys(("all", "any"), _TRUTH),
    "abs": "PyTorch asks for the result's type of real numbers, and casts for complex ones; here both are cast",
    "absolute": "as abs",
    "fft.ifft": "PyTorch asks for the result's own type where the input is real, and casts where it is complex",
    **dict.fromkeys(("median", "nanmedian"), "PyTorch takes no out= without dim="),
    "argsort": "PyTorch takes no out= here",
    "det": "PyTorch refuses the right type too where it has to copy",
    "logsumexp": "PyTorch drops the imaginary part where out= is real",
    "special.logsumexp": "as logsumexp",
}
"""Functions that take other types than PyTorch's, and why."""


def _samples(name: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], Any]]:
    """Yield calls of a function in PyTorch that give tensors with entries, and what they give: one in each type."""
    function = _found(torch, name)
    if name in CALLS:
        yield CALLS[name], {}, function(*CALLS[name])
    for entry in ENTRIES.get(name, []):
        for dtype in (one for one in INPUTS if one in entry.dtypes):
            for sample in samples_of(entry, dtype):
                plain = sample.transform(lambda one: one.detach() if isinstance(one, torch.Tensor) else one)
                arguments, words = (plain.input, *plain.args), plain.kwargs
                try:
                    result = function(*arguments, **words)
                except (RuntimeError, TypeError):  # a variant whose call is that of a method
                    continue
                if all(isinstance(one, torch.Tensor) and one.numel() for one in _several(result)):
                    yield arguments, words, result
                    break


def _several(result: Any) -> tuple[Any, ...]:
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def _outs(result: Any) -> Iterator[tuple[str, Any]]:
    """Yield tensors to write a result into, one of them in another type, and a word for it."""
    several = _several(result)
    for i, one in enumerate(several):
        for dtype in OUTS:
            empty = [torch.empty(other.shape, dtype=other.dtype) for other in several]
            empty[i] = torch.empty(one.shape, dtype=dtype)
            word = f"{one.dtype} into {dtype}".replace("torch.", "")
            yield word, empty[0] if isinstance(result, torch.Tensor) else tuple(empty)


def _found(library: Any, name: str) -> Callable[..., Any]:
    for part in name.split("."):
        library = getattr(library, part)
    return library  # type: ignore[no-any-return]


def _takes(function: Callable[..., Any], arguments: Any, words: Any, out: Any) -> bool:
    try:
        function(*arguments, **words, out=out)
    except (RuntimeError, TypeError):
        return False
    return True


def _ours(out: Any) -> Any:
    return (
        tuple(map(_ours, out))
        if isinstance(out, tuple)
        else wb.empty(tuple(out.shape), dtype=DTYPES[out.dtype])
    )


def differing(name: str) -> list[str]:
    """Return where one library writes a result into a tensor of a type, and the other refuses it."""
    found, count = [], 0
    for arguments, words, result in _samples(name):
        mine = translated(arguments), translated(words)
        for word, out in _outs(result):
            count += 1
            want = _takes(_found(torch, name), arguments, words, out)
            if _takes(_found(wb, name), *mine, _ours(out)) != want:
                found.append(f"{word}: {'taken' if want else 'refused'} by PyTorch")
    assert count, "no sample gives tensors"
    return found


@pytest.mark.parametrize("full", NAMES)
def test_types_are_taken_and_refused_as_in_torch(full: str) -> None:
    name = full.removeprefix("workbench.")
    found = differing(name)
    assert bool(found) == (name in DIFFERENCES), found
