"""Words of PyTorch's about memory, comparisons with nothing, slices by tensors, and words that are misspelt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench.base.foreign import called, is_foreign, mending


def test_resizing_reads_memory_anew() -> None:
    x = wb.arange(6).reshape(2, 3)
    assert (
        x.resize_(3) is x
        and x.tolist() == [0, 1, 2]
        and x.resize_((3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]
    )
    row = x[1]
    row.resize_(1)[0] = 9
    assert x[1].tolist() == [9, 3]
    x[1, 0] = 2
    assert x.resize_(9)[:6].tolist() == [0, 1, 2, 3, 4, 5] and x.resize_as_(wb.zeros(1, 2)).shape == (1, 2)
    assert wb.zeros(24).resize_(1, 2, 3, 4, memory_format=wb.channels_last).stride() == (24, 1, 8, 2)


def test_set_shares_memory() -> None:
    x, y = wb.zeros(1), wb.tensor([1.0, 2.0, 3.0, 4.0])
    x.set_(y)
    x[0] = 7.0
    assert y[0] == 7.0 and x.set_(y, 1, (2,), (2,)).tolist() == [2.0, 4.0] and x.set_().shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: wb.ones(2, requires_grad=True).resize_(3),
            wb.AutogradError,
            "cannot resize variables that require",
        ),
        (lambda: wb.ones(2).resize_(-1), RuntimeError, "sizes are not negative"),
        (
            lambda: wb.ones(2).set_(wb.ones(2, dtype=wb.int64)),
            RuntimeError,
            "could not set tensor of type int64",
        ),
        (lambda: wb.ones(2, requires_grad=True).apply_(abs), wb.AutogradError, r"var.detach\(\).apply_\(\)"),
        (
            lambda: wb.ones(2).map_(wb.ones(2, dtype=wb.int64), max),
            TypeError,
            "expected tensor of type float32",
        ),
        (lambda: wb.ones(2).pin_memory(), RuntimeError, "cannot access accelerator"),
        (lambda: wb.ones(2).record_stream(None), wb.DeviceError, "streams belong to a GPU"),
        (lambda: wb.Generator(device="cuda"), RuntimeError, "a generator draws on the CPU"),
        (lambda: wb.where(wb.ones(2) > 0, 1.0), TypeError, "one is missing"),
        (lambda: wb.ones(4)[: wb.tensor([1, 2])], TypeError, "slice indices must be whole numbers"),
        (lambda: wb.ones(4)[wb.tensor(1.0) :], TypeError, "slice indices must be whole numbers"),
        (lambda: wb.ones(2).reqires_grad, AttributeError, "did you mean 'requires_grad'"),
        (
            lambda: wb.ones(2).sumn(),
            AttributeError,
            "'Tensor' object has no attribute 'sumn': did you mean 'sum'",
        ),
        (
            lambda: wb.ones(2).output_nr,
            AttributeError,
            "has no attribute 'output_nr'$",
        ),  # no private word is near
        (lambda: wb.ones(2)._no_such, AttributeError, "has no attribute '_no_such'$"),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_entry_by_entry() -> None:
    x = wb.tensor([1.0, 2.0])
    assert x.apply_(lambda value: value + 1) is x and x.tolist() == [2.0, 3.0]
    assert x.map_(wb.tensor(2.0), lambda value, other: value * other).tolist() == [4.0, 6.0]


def test_where_memory_is() -> None:
    x = wb.tensor([[1, 2], [3, 4]])
    assert x.storage().tolist() == x.t()[1:].storage().tolist() == [1, 2, 3, 4]
    assert x.untyped_storage().nbytes() == 32 and x[1:].untyped_storage().data_ptr() == x.data_ptr()
    assert len(x.storage()) == x.storage().size() == 4 and x.storage()[2] == 3 and x.storage()[1:3] == [2, 3]
    x.storage()[0] = 9
    assert x[0, 0] == 9 and x.storage().untyped().nbytes() == 32 and x.storage().element_size() == 8
    assert repr(x.storage()) == "TypedStorage of size 4" and next(iter(x.storage())) == 9
    assert x.get_device() == wb.get_device(x) == -1
    assert not x.is_pinned() and not x.storage().is_shared()
    assert x.clone().share_memory_().storage().is_shared()


def test_a_tensor_is_not_nothing() -> None:
    x = wb.ones(2)
    assert (x == None) is False and (x != None) is True and (x == "a") is False  # noqa: E711
    assert None not in [1, "a"] and (x == 1).all() and not (x != 1).any()
    with pytest.raises(TypeError, match="unsupported operand of type 'object'"):
        _ = x == object()


def test_slices_by_tensors() -> None:
    x = wb.arange(6)
    assert x[: wb.tensor(2)].tolist() == [0, 1] and x[
        wb.tensor(1) : wb.tensor([4]) : wb.tensor(2)
    ].tolist() == [1, 3]
    x[wb.tensor(4) :] = 0
    assert x.tolist() == [0, 1, 2, 3, 0, 0]


def test_where_a_condition_holds() -> None:
    rows, columns = wb.where(wb.tensor([[0, 1], [1, 0]]) > 0)
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0]


def test_generators_know_the_cpu() -> None:
    assert (
        wb.Generator(device="cpu").manual_seed(3).initial_seed() == 3 and wb.Generator("cpu").device == "cpu"
    )
    before = wb.get_rng_state()
    with wb.fork_rng(devices=[], enabled=True):
        wb.rand(3)
    assert wb.get_rng_state() == before
    with wb.fork_rng(enabled=False):
        wb.rand(3)
    assert wb.get_rng_state() != before


def test_a_function_kept_in_a_modules_class_is_no_method() -> None:
    class Layer(nn.Module):
        op = nn.functional.conv1d
        other = staticmethod(wb.relu)

        def forward(self, x: Any, weight: Any) -> Any:
            return self.other(self.op(x, weight))

    x, weight = wb.ones(1, 2, 5), wb.ones(3, 2, 2)
    assert Layer()(x, weight).tolist() == nn.functional.conv1d(x, weight).tolist()
    assert Layer.op is nn.functional.conv1d


def test_hooks_of_all_modules_are_where_pytorch_has_them() -> None:
    seen: list[str] = []
    handle = nn.modules.module.register_module_forward_hook(
        lambda module, *_: seen.append(type(module).__name__)
    )
    nn.Linear(1, 1)(wb.ones(1))
    handle.remove()
    nn.Linear(1, 1)(wb.ones(1))
    assert seen == ["Linear"]


def test_what_another_librarys_tensor_is_called() -> None:
    kind = type("Tensor", (), {"__module__": "torch"})
    assert is_foreign(kind()) and called(kind()) == "'torch.Tensor' (PyTorch's own)"
    assert "wb.from_dlpack(x)" in mending(kind()) and mending(3) == "wb.tensor(...) makes one"
    for call in (lambda: wb.relu(kind()), lambda: nn.Linear(1, 1)(kind())):
        with pytest.raises(TypeError, match="it is PyTorch's own"):
            call()


# ------------------------------------------------------------------------------------------ gradients


def test_backward_of_several() -> None:
    x = wb.tensor([1.0, 2.0], requires_grad=True)
    wb.autograd.backward([(x * 2).sum(), x * x], [None, wb.tensor([1.0, 10.0])])
    assert x.grad is not None and x.grad.tolist() == [4.0, 42.0]
    wb.autograd.backward((x * 3).sum(), grad_variables=wb.tensor(2.0))
    assert x.grad.tolist() == [10.0, 48.0]


def test_backward_into_some() -> None:
    x, y = wb.tensor(1.0, requires_grad=True), wb.tensor(2.0, requires_grad=True)
    (x * y).backward(inputs=[x])
    assert x.grad is not None and x.grad.item() == 2.0 and y.grad is None
    between = x * y
    (between * 3).backward(inputs=between)
    assert between.grad is not None and between.grad.item() == 3.0 and x.grad.item() == 2.0
    assert wb.autograd.grad(x * y, x, only_inputs=True)[0].item() == 2.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: (x * 2).backward(inputs=[]), "cannot be empty"),
        (lambda x: (x * 2).backward(inputs=[wb.ones(1)]), r"One of the differentiated Tensors \(input 0\)"),
        (lambda x: wb.autograd.backward([x * 2], [None, None]), "got 1 tensors and 2 gradients"),
        (lambda x: wb.autograd.backward(x * 2, wb.ones(()), grad_variables=wb.ones(())), "both passed"),
    ],
)
def test_backward_refuses(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call(wb.tensor(1.0, requires_grad=True))


def test_only_inputs_is_an_older_word() -> None:
    x = wb.tensor(1.0, requires_grad=True)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        wb.autograd.grad(x * 2, x, only_inputs=False)


@pytest.mark.parametrize("per_channel", [False, True])
def test_codes_lie_as_they_are_asked_to(per_channel: bool) -> None:
    x = wb.rand(2, 8, 4, 4)
    scales, zeros = wb.rand(8) * 0.01 + 0.001, wb.zeros(8).long()
    q = (
        wb.quantize_per_channel(x, scales, zeros, 1, wb.qint8)
        if per_channel
        else wb.quantize_per_tensor(x, 0.01, 3, wb.quint8)
    )
    last = q.contiguous(memory_format=wb.channels_last)
    assert last.stride() == (128, 1, 32, 8) and last.contiguous(memory_format=wb.channels_last) is last
    assert not last.is_contiguous() and last.is_contiguous(memory_format=wb.channels_last)
    assert q.to(memory_format=wb.channels_last).stride() == last.stride() == last.int_repr().stride()
    assert q.clone(memory_format=wb.channels_last).stride() == last.dequantize().stride() == last.stride()
    assert last.contiguous().stride() == q.stride() == (128, 16, 4, 1)
    assert last.int_repr().tolist() == q.int_repr().tolist() and last.qscheme() == q.qscheme()


def test_codes_that_share_bytes_lie_in_one_order() -> None:
    q = wb.quantize_per_tensor(wb.rand(2, 4, 4, 4), 0.1, 0, wb.quint4x2)
    last = q.contiguous(memory_format=wb.channels_last)
    assert last.stride() == q.stride() and last.int_repr().tolist() == q.int_repr().tolist()
