"""Whole models, compiled: the numbers of eager, state as it was, and what changes behind them is seen."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels, nn

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


def close(given: Any, expected: Any) -> None:
    """Within 1e-5 of the largest number."""
    assert given.shape == expected.shape and given.names == expected.names
    largest = np.abs(expected.numpy()).max()
    assert np.abs(given.numpy() - expected.numpy()).max() <= 1e-5 * largest


def calls(compiled: Any) -> dict[str, int]:
    return wb.compiler.explain(compiled).calls


def small() -> Any:
    wb.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 20, 3, padding=1), nn.BatchNorm2d(20), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(20 * 16, 7),
    ).eval()  # fmt: skip


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2", "efficientnet_lite0"])
def test_models_compute_what_eager_computes(name: str) -> None:
    wb.manual_seed(1)
    model = getattr(wb.models, name)().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):  # statistics of a network that has learnt
            module.running_mean.normal_().mul_(0.1)
            module.running_var.uniform_(0.5, 1.5)
    compiled = wb.compile(model)
    with wb.no_grad():
        for sizes in ((1, 3, 64, 64), (3, 3, 64, 64), (2, 3, 96, 64)):
            x = wb.randn(*sizes)
            close(compiled(x), model(x))
            assert np.array_equal(compiled(x).numpy(), compiled(x).numpy())
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 9} and not report.made_anew
    assert len(report.programs) == 3
    for program in report.programs:
        assert not program.eager


def test_a_compiled_module_is_the_module_to_whoever_looks() -> None:
    model = small()
    compiled = wb.compile(model)
    assert isinstance(compiled, nn.Sequential) and isinstance(compiled, nn.Module)
    assert type(compiled).__name__ == "Sequential" and repr(compiled) == repr(model)
    assert list(compiled.state_dict()) == list(model.state_dict())
    assert [id(one) for one in compiled.parameters()] == [id(one) for one in model.parameters()]
    assert compiled._orig_mod is model and wb.compile(compiled) is compiled
    assert compiled.train().training and model.training and model[1].training
    model.eval()
    assert not compiled.training
    compiled.note = 3
    assert model.note == 3
    compiled.load_state_dict({name: one * 2 for name, one in model.state_dict().items()})


def test_copies_have_programs_of_their_own() -> None:
    compiled = wb.compile(small())
    twin = copy.deepcopy(compiled)
    x = wb.randn(2, 3, 8, 8)
    with wb.no_grad():
        before = compiled(x)
        twin[0].weight.zero_()
        assert not np.array_equal(twin(x).numpy(), before.numpy())
        assert np.array_equal(compiled(x).numpy(), before.numpy())
    assert calls(twin) == {"compiled": 1}


def test_training_goes_on_and_the_program_sees_it() -> None:
    model = small()
    compiled = wb.compile(model)
    optimizer = wb.optim.SGD(compiled.parameters(), lr=0.1)
    x, labels = wb.randn(4, 3, 8, 8), wb.tensor([0, 1, 2, 3])
    for _ in range(2):
        compiled.train()
        loss = nn.functional.cross_entropy(compiled(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        compiled.eval()
        with wb.no_grad():
            close(compiled(x), model(x))
    assert calls(compiled) == {"compiled": 4}


@pytest.mark.parametrize("how", ["in place", "numpy", "data", "replaced", "buffer", "loaded"])
def test_changed_parameters_are_never_stale(how: str) -> None:
    model = small()
    compiled = wb.compile(model)
    x = wb.randn(2, 3, 8, 8)
    array = model[0].weight.detach().numpy() if how == "numpy" else None
    with wb.no_grad():
        before = compiled(x)
        if how == "in place":
            model[0].weight.mul_(2)
        elif how == "numpy":
            assert array is not None
            array *= 2
        elif how == "data":
            model[0].weight.data = model[0].weight.data * 2
        elif how == "replaced":
            model[5] = nn.Linear(20 * 16, 7)
        elif how == "buffer":
            model[1].running_mean.add_(1)
        else:
            model.load_state_dict({name: one + 1 for name, one in model.state_dict().items()})
        close(compiled(x), model(x))
        assert not np.array_equal(compiled(x).numpy(), before.numpy())
    assert calls(compiled) == {"compiled": 3}


def test_a_program_for_other_sizes_has_the_numbers_of_now() -> None:
    # Constants share the memory of parameters: between two programs they may be other numbers.
    for model, sizes in ((nn.Linear(6, 5).eval(), ((2, 6), (3, 6))), (small(), ((1, 3, 8, 8), (2, 3, 8, 8)))):
        compiled = wb.compile(model)
        with wb.no_grad():
            for size in sizes:
                close(compiled(wb.ones(*size)), model(wb.ones(*size)))
                for parameter in model.parameters():
                    parameter.mul_(1.5)
            close(compiled(wb.ones(*sizes[0])), model(wb.ones(*sizes[0])))


def test_changed_attributes_are_seen() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 2.0

        def forward(self, x: Any) -> Any:
            return x * self.scale

    model = Scaled().eval()
    compiled = wb.compile(model)
    x = wb.ones(3)
    assert compiled(x).tolist() == [2.0] * 3
    model.scale = 3.0
    assert compiled(x).tolist() == [3.0] * 3
    assert wb.compiler.explain(compiled).made_anew == {"the attribute 'scale' of a module is another": 1}


def test_what_a_call_does_besides_is_done_each_time() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return x + 1

    model = Counting().eval()
    compiled = wb.compile(model)
    for _ in range(3):
        compiled(wb.ones(2))
    assert model.calls == 3


def test_hooks_run() -> None:
    model = small()
    compiled = wb.compile(model)
    x, seen = wb.randn(2, 3, 8, 8), []
    with wb.no_grad():
        compiled(x)
        handle = model[0].register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
        compiled(x)
        handle.remove()
        compiled(x)
    assert seen == [(2, 20, 8, 8)]
    assert calls(compiled)["hooks or others follow the calls of modules"] == 1


def test_gradients_of_what_is_given_arrive() -> None:
    model = small()
    compiled = wb.compile(model)
    x = wb.randn(2, 3, 8, 8).requires_grad_()
    compiled(x).sum().backward()
    assert x.grad is not None and model[0].weight.grad is not None


def test_eight_threads_get_the_results_of_one() -> None:
    compiled = wb.compile(small())
    given = [wb.randn(1 + i % 3, 3, 8, 8) for i in range(8)]
    with wb.no_grad():
        expected = [compiled(x).numpy() for x in given]
    found: list[list[Any]] = [[] for _ in given]

    def work(number: int) -> None:
        with wb.no_grad():
            found[number] = [compiled(given[number]).numpy() for _ in range(30)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for results, wanted in zip(found, expected, strict=True):
        assert len(results) == 30 and all(np.array_equal(one, wanted) for one in results)


def test_an_encoder_computes_what_eager_computes() -> None:
    wb.manual_seed(2)
    sizes = wb.models.BertSettings(words=50, features=24, layers=2, heads=3, hidden=48, positions=16)
    model = wb.models.BertEncoder(sizes).eval()
    compiled = wb.compile(model)
    mask = wb.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    with wb.no_grad():
        for count in (5, 3):
            words = wb.randint(0, 50, (2, count))
            close(compiled(words, mask[:, :count]), model(words, mask[:, :count]))
    program = wb.compiler.explain(compiled).programs[0]
    assert program.steps["attention own"] == 2 and not any("turn" in one for one in program.steps)


def test_a_vision_transformer_computes_what_eager_computes() -> None:
    wb.manual_seed(3)
    model = wb.models.vit_small().eval()
    compiled = wb.compile(model)
    x = wb.randn(2, 3, 32, 32)
    with wb.no_grad():
        close(compiled(x), model(x))
