"""Words of PyTorch's that tensors have not: what is said of them."""

from __future__ import annotations

import pickle
import re

import pytest

import workbench as wb
from workbench.base.errors import AbsentWordError
from workbench.tensor.absent import ELSEWHERE


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_each_says_what_stands_for_it(name: str) -> None:
    x = wb.ones(2)
    words = f"^'Tensor' object has no attribute '{name}': {re.escape(ELSEWHERE[name])}$"
    with pytest.raises(AbsentWordError, match=words) as caught:
        getattr(x, name)
    assert caught.value.name == name and str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    # Programs that ask first go on.
    assert not hasattr(x, name) and getattr(x, name, None) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("to_padded_tensor", r"rows of different lengths are not here: nn.utils.rnn.pad_sequence\(rows"),
        ("to_sparse_bsr", r"x.to_sparse\(\) and x.to_sparse_csr\(\) make them"),
        ("is_xla", "x.device says where"),
        ("solve", r"wb.linalg.solve\(a, b\)"),
    ],
)
def test_words(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(wb.nn.Parameter(wb.ones(2)), name)


@pytest.mark.parametrize("name", ["eig", "lstsq", "nonzero_static", "smm", "solve", "sspaddmm", "symeig"])
def test_functions_say_the_same(name: str) -> None:
    with pytest.raises(AbsentWordError) as caught:
        getattr(wb, name)
    assert str(caught.value) == f"module 'workbench' has no attribute {name!r}: {ELSEWHERE[name]}"


def test_what_is_named_instead_is_there() -> None:
    found = {
        path for text in ELSEWHERE.values() for path in re.findall(r"\b(wb|x|nn)\.([a-z_.]*[a-z_])", text)
    }
    assert len(found) > 10
    for start, path in found:
        place = {"wb": wb, "x": wb.ones(2), "nn": wb.nn}[start]
        for word in path.split("."):
            place = getattr(place, word)
