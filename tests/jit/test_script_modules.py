"""Scripts of modules: their state, their parts, their methods; written to archives and read."""

from __future__ import annotations

import io
from typing import Any, Final

import pytest

import workbench as wb
from workbench import Tensor, nn


class Remembering(nn.Module):
    """The module of TorchScript's own announcement."""

    def __init__(self, rows: int, columns: int, state: list[Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(wb.rand(rows, columns))
        self.state = state

    def forward(self, input: Tensor) -> Tensor:
        self.state.append(input)
        if input.sum() > 0:
            output = self.weight.mv(input)
        else:
            output = self.weight + input
        return output


def saved(module: Any) -> Any:
    """Write a script and read it."""
    file = io.BytesIO()
    wb.jit.save(module, file)
    file.seek(0)
    return wb.jit.load(file)


def test_a_module_whose_state_is_a_list_branches_and_calls_mv() -> None:
    original = Remembering(3, 4, [wb.rand(3, 4)])
    made = wb.jit.script(original)
    x = wb.rand(4)
    assert (made(x) == original.weight.mv(x)).all() and (made(-x) == original.weight - x).all()
    # A script has lists of its own.
    assert len(made.state) == 3 and len(original.state) == 1
    assert "Tensor.mv(%weight, %input)" in str(made.graph) and "if input.sum" not in made.code
    again = saved(made)
    assert (again(x) == made(x)).all() and len(again.state) == 4
    assert (again.state[1] == x).all()
    assert [node.source.rpartition(":")[0] for node in made.graph.nodes] == ["test_script_modules.py"] * len(
        made.graph.nodes
    )


class Counting(nn.Module):
    count: int
    scale: Final[float]

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.scale = 2.0
        self.best: float | None = None
        self.names = {"a": 1}
        self.resets = wb.jit.Attribute([], list[int])
        self.register_buffer("total", wb.zeros(()))
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)])
        self.heads = nn.ModuleDict({"one": nn.Linear(2, 1), "two": nn.Linear(2, 1)})

    def forward(self, x: Tensor, times: int = 1) -> Tensor:
        for _ in range(times):
            for i, layer in enumerate(self.layers):
                x = layer(x) + i
        out = x.sum(1, keepdim=True)
        for name, head in self.heads.items():
            if name != "two":
                out = out + head(x)
        self.count += 1
        self.total = self.total + out.sum()
        return self.scaled(out) if self.training else out

    def scaled(self, x: Tensor) -> Tensor:
        return x * self.scale

    @wb.jit.export
    def reset(self, to: int) -> int:
        before, self.count = self.count, to
        self.names["a"] = before
        self.resets.append(to)
        return before

    @wb.jit.unused
    def unscriptable(self, x: Tensor) -> Tensor:
        return sorted({x}, key=lambda one: 1)[0]


def test_attributes_parts_and_methods() -> None:
    original = Counting()
    made = wb.jit.script(original)
    x = wb.rand(3, 2)
    for times in (1, 2):
        assert (made(x, times) == original(x, times)).all()
    assert made.count == original.count == 2 and (made.total == original.total).all()
    made.eval(), original.eval()
    assert (made(x) == original(x)).all()
    again = saved(made)
    assert again.reset(5) == made.reset(5) == 3
    assert again.count == 5 and again.names == {"a": 3} and again.resets == [5]
    assert (again(x) == made(x)).all() and (again.total == made.total).all()
    assert repr(again) == repr(made)


def test_gradients_reach_the_parameters() -> None:
    original = Counting()
    made = wb.jit.script(original)
    made(wb.ones(3, 2)).sum().backward()
    found = [one.grad.clone() for one in made.parameters() if one.grad is not None]
    original.zero_grad()
    original(wb.ones(3, 2)).sum().backward()
    expected = [one.grad for one in original.parameters() if one.grad is not None]
    assert len(found) == len(expected) > 0
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("training", [False, True])
def test_a_normalisation_changes_its_statistics(training: bool) -> None:
    original = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).train(training)
    made = wb.jit.script(original)
    x = wb.rand(2, 1, 5, 5)
    found = made(x)
    expected = original(x)
    if not training:
        assert (found == expected).all()
    assert int(original[1].num_batches_tracked) == 2 * training  # the buffers are shared
    again = saved(made)
    assert (again(x) == made(x)).all() and again.training == training


def test_what_is_ignored_runs_as_python_and_is_not_written() -> None:
    class Asking(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return self.asked(x, 3)

        @wb.jit.ignore
        def asked(self, x: Tensor, n: int) -> Tensor:
            return x * sum({n, n + 1})

    made = wb.jit.script(Asking())
    assert (made(wb.ones(2)) == 7).all()
    with pytest.raises(wb.WeightsError, match="forward calls 'asked' as a function of Python's"):
        saved(made)


def test_hooks_are_refused() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].register_forward_hook(lambda *given: None)
    with pytest.raises(wb.jit.ScriptError, match="has hooks, which are Python that a script does not run"):
        wb.jit.script(model)
