"""Programs traced, changed and run with `wb.fx` and `torch.fx`: code, nodes, results, classes of errors are equal."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.peers.fx.models import with_torch
from tests.peers.fx.programs import REFUSED, TRACED, WORKED_ON, Library
from workbench.fx.passes.split_module import split_module

torch = pytest.importorskip("torch")
importlib.import_module("torch.fx")
importlib.import_module("torch.fx.passes.split_module")
OURS = Library(wb, wb.nn, wb.nn.functional, wb.fx, split_module)
THEIRS = Library(torch, torch.nn, torch.nn.functional, torch.fx, torch.fx.passes.split_module.split_module)

pytestmark = pytest.mark.usefixtures("one_thread")


def plain(text: str) -> str:
    """Return code or a graph's text without the names of packages and of their files."""
    # Annotations that are text are written as names by PyTorch, and stay text here.
    text = re.sub(r" : '\w+' \[", " : [", text)
    text = re.sub(r" : ('\w+'|_\w+_)(?=[ ,)=])| -> ('\w+'|_\w+_)", "", text)
    text = re.sub(r'torch\.fx\._symbolic_trace\.wrap\("\w+"\)\n', "\n", text)
    # Both have functions in several rooms: what is called counts, and not out of which room.
    text = re.sub(r"\b(torch|workbench)(\.\w+)*\.(?=\w+)", "lib.", text)
    return re.sub(r"\b(torch|workbench)_\w*?_(?=_?assert|linear)", "lib_", text)


def same(ours: Any, theirs: Any) -> None:
    """Compare what programs return."""
    if isinstance(theirs, torch.Tensor):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key, one in theirs.items():
            same(ours[key], one)
    elif isinstance(theirs, tuple | list):
        assert isinstance(ours, tuple | list) and len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        assert ours == theirs


def agree(ours: Any, theirs: Any, count: int = 1) -> None:
    """Compare two modules: what is written of them, and what they compute with the same weights."""
    ours.graph.lint()
    assert plain(ours.code) == plain(theirs.code)
    nodes = [(node.op, node.name, len(node.users)) for node in ours.graph.nodes]
    assert nodes == [(node.op, node.name, len(node.users)) for node in theirs.graph.nodes]
    assert plain(str(ours.graph)) == plain(str(theirs.graph))
    ours.load_state_dict(
        {name: wb.from_numpy(one.numpy().copy()) for name, one in theirs.state_dict().items()}
    )
    inputs = [np.random.default_rng(i).standard_normal((4, 4)).astype("f4") for i in range(count)]
    with wb.no_grad(), torch.no_grad():
        result = theirs(*map(torch.from_numpy, inputs))
        same(ours(*map(wb.from_numpy, inputs)), result)
        wb.graph.check(ours.graph.ir)


@pytest.mark.parametrize("name", TRACED)
def test_programs_are_traced_alike(name: str) -> None:
    make, count = TRACED[name]
    ours, theirs = (lib.fx.symbolic_trace(make(lib)) for lib in (OURS, THEIRS))
    agree(ours, theirs, count)


@pytest.mark.parametrize("name", WORKED_ON)
def test_modules_are_changed_alike(name: str) -> None:
    agree(WORKED_ON[name](OURS), WORKED_ON[name](THEIRS))


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_has_errors_of_the_same_class(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        torch.fx.symbolic_trace(REFUSED[name])
    known = {torch.fx.proxy.TraceError: wb.fx.TraceError}
    kind = known.get(type(theirs.value), type(theirs.value))
    with pytest.raises(kind):
        wb.fx.symbolic_trace(REFUSED[name])


MODELS = {
    "resnet": ("resnet18", (1, 3, 32, 32)),
    "mobilenet": ("mobilenet_v2", (1, 3, 32, 32)),
    "digits": ("DigitsNet", (1, 1, 28, 28)),
    "lenet": ("LeNet", (1, 1, 28, 28)),
}


@pytest.mark.parametrize("room", MODELS)
def test_models_are_traced_alike(room: str) -> None:
    name, shape = MODELS[room]
    their_net = getattr(with_torch(room), name)().eval()
    ours, theirs = wb.fx.symbolic_trace(getattr(wb.models, name)().eval()), torch.fx.symbolic_trace(their_net)
    assert plain(ours.code) == plain(theirs.code)
    ours.load_state_dict({key: wb.from_numpy(one.numpy().copy()) for key, one in theirs.state_dict().items()})
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    with wb.no_grad(), torch.no_grad():
        result = theirs(torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(ours(wb.from_numpy(x)).numpy(), result, rtol=1e-3, atol=1e-4)
