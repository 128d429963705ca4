"""What a compiled function reaches beside tensors may change, and what it does beside its result is done."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels, nn
from workbench.core.lending import Stamp
from workbench.graph import GraphError

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")

SCALE = [2.0]


@dataclass
class Settings:
    scale: float = 2.0


class Plain:
    scale = 2.0


def helper(x: Any) -> Any:
    return x * SCALE[0]


def calls(compiled: Any) -> dict[str, int]:
    return wb.compiler.explain(compiled).calls


def in_a_list() -> tuple[Any, Any]:
    held = [2.0]
    return lambda x: x * held[0], lambda: held.__setitem__(0, 3.0)


def in_a_nested_dict() -> tuple[Any, Any]:
    held: dict[str, Any] = {"of": {"scale": 2.0}}
    return lambda x: x * held["of"]["scale"], lambda: held["of"].update(scale=3.0)


def in_a_deque() -> tuple[Any, Any]:
    held = deque([2.0])
    return lambda x: x * held[0], lambda: (held.append(3.0), held.popleft())


def in_a_dataclass() -> tuple[Any, Any]:
    held = Settings()
    return lambda x: x * held.scale, lambda: setattr(held, "scale", 3.0)


def in_a_class() -> tuple[Any, Any]:
    held = type("Held", (), {"scale": 2.0})
    return lambda x: x * held.scale, lambda: setattr(held, "scale", 3.0)


def in_an_array() -> tuple[Any, Any]:
    held = np.array([2.0])
    return lambda x: x * float(held[0]), lambda: held.fill(3.0)


def a_tensor_in_a_list() -> tuple[Any, Any]:
    held = [wb.tensor(2.0)]
    return lambda x: x * held[0], lambda: held[0].fill_(3.0)


def another_tensor_in_a_list() -> tuple[Any, Any]:
    held = [wb.tensor(2.0)]
    return lambda x: x * held[0], lambda: held.__setitem__(0, wb.tensor(3.0))


def what_another_function_reads() -> tuple[Any, Any]:
    SCALE[0] = 2.0
    return lambda x: helper(x) + 0, lambda: SCALE.__setitem__(0, 3.0)


def what_a_partial_holds() -> tuple[Any, Any]:
    held = [2.0]
    scaled = partial(lambda numbers, x: x * numbers[0], held)
    return lambda x: scaled(x), lambda: held.__setitem__(0, 3.0)


def a_list_of_a_module() -> tuple[Any, Any]:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = [2.0]

        def forward(self, x: Any) -> Any:
            return self.scaled(x)

        def scaled(self, x: Any) -> Any:
            return x * self.scale[0]

    module = Scaled()
    return module, lambda: module.scale.__setitem__(0, 3.0)


def what_a_method_reads() -> tuple[Any, Any]:
    SCALE[0] = 2.0

    class Scaled(nn.Module):
        def forward(self, x: Any) -> Any:
            return self.scaled(x)

        def scaled(self, x: Any) -> Any:
            return helper(x)

    return Scaled(), lambda: SCALE.__setitem__(0, 3.0)


@pytest.mark.parametrize(
    "make",
    [
        in_a_list, in_a_nested_dict, in_a_deque, in_a_dataclass, in_a_class, in_an_array, a_tensor_in_a_list,
        another_tensor_in_a_list, what_another_function_reads, what_a_partial_holds, a_list_of_a_module,
        what_a_method_reads,
    ],
    ids=lambda make: make.__name__,
)  # fmt: skip
def test_what_changes_behind_it_is_noticed(make: Any) -> None:
    function, change = make()
    compiled = wb.compile(function)
    x = wb.ones(2)
    assert [compiled(x).tolist() for _ in range(2)] == [[2.0, 2.0]] * 2
    change()
    assert compiled(x).tolist() == function(x).tolist() == [3.0, 3.0]
    assert calls(compiled) == {"compiled": 3}


def test_what_it_does_beside_its_result_is_done_in_each_call(capsys: pytest.CaptureFixture[str]) -> None:
    count: list[int] = []

    def counts(x: Any) -> Any:
        count.append(1)
        return x + 1

    def prints(x: Any) -> Any:
        print("seen")
        return x + 1

    def draws(x: Any) -> Any:
        return x * random.random() * np.random.rand()

    def writes(x: Any) -> Any:
        x.add_(1)
        return x * 2

    for function in (counts, prints, draws, writes):
        with pytest.raises(GraphError):
            wb.compile(function, fullgraph=True)(wb.ones(2))
    assert (count, capsys.readouterr().out) == ([], "")
    compiled = wb.compile(counts), wb.compile(prints), wb.compile(draws), wb.compile(writes)
    x = wb.ones(2)
    for _ in range(2):
        compiled[0](x)
        compiled[1](x)
    assert (len(count), capsys.readouterr().out) == (2, "seen\nseen\n")
    random.seed(0)
    first = random.random()
    random.seed(0)
    np.random.seed(0)
    again = np.random.RandomState(0).rand()
    assert np.allclose(compiled[2](x).numpy(), first * again)
    assert compiled[2](x).tolist() != compiled[2](x).tolist()
    assert (compiled[3](x).tolist(), x.tolist()) == ([4.0, 4.0], [2.0, 2.0])


def test_what_cannot_be_watched_is_not_compiled() -> None:
    generator = np.random.default_rng(0)
    many = list(range(10_000))
    large = np.ones(100_000)
    cases = [
        (lambda x: x * generator.random(), "generator, which draws numbers"),
        (lambda x: x * many[1], "many, which holds more"),
        (lambda x: x * float(large[0]), "large, an array of NumPy's"),
    ]
    for function, words in cases:
        compiled = wb.compile(function)
        compiled(wb.ones(2))
        assert any(words in why for why in calls(compiled))
        with pytest.raises(GraphError, match=words):
            wb.compile(function, fullgraph=True)(wb.ones(2))


def test_who_only_reads_parameters_does_not_make_each_call_compare_their_numbers(tmp_path: Any) -> None:
    """Memory that is in other hands for good can change unseen: its numbers are compared before each call."""
    layer, x = nn.Linear(4, 4), wb.ones(1, 4)
    wb.onnx.save(layer, tmp_path / "layer.onnx", x)
    wb.save(layer.state_dict(), tmp_path / "layer.pt")
    wb.jit.save(wb.jit.trace(layer, x), tmp_path / "layer.wb")
    with wb.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_histogram("weight", layer.weight)
    assert all(Stamp(one).holds(one) for one in layer.parameters())
    layer.eval().requires_grad_(False)
    compiled = wb.compile(layer)
    memory = layer.weight.numpy()
    for value in (1.0, np.nan, 2.0):
        memory[...] = value
        assert np.array_equal(compiled(x).numpy(), layer(x).numpy(), equal_nan=True)
