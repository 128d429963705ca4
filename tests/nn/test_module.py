"""`Module`: what is registered, what is inside, hooks, state, and where an error arose."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.core import scope


class Block(nn.Module):
    """Two layers, a buffer, and a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.scale = nn.Parameter(wb.ones(1))
        self.register_buffer("count", wb.zeros(2))
        self.register_buffer("scratch", wb.zeros(2), persistent=False)

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        return self.second(self.first(x)) * self.scale


def test_what_is_assigned_is_registered_in_order() -> None:
    block = Block()
    assert [name for name, _ in block.named_parameters()] == [
        "scale",
        "first.weight",
        "first.bias",
        "second.1.weight",
    ]
    assert [name for name, _ in block.named_buffers()] == ["count", "scratch"]
    assert [name for name, _ in block.named_modules()] == ["", "first", "second", "second.0", "second.1"]
    assert [name for name, _ in block.named_children()] == ["first", "second"]
    assert list(block.state_dict()) == ["scale", "count", "first.weight", "first.bias", "second.1.weight"]
    assert len(list(block.parameters())) == 4
    assert list(block.first.children()) == []


def test_shared_modules_and_parameters_come_once() -> None:
    layer = nn.Linear(2, 2)
    model = nn.Sequential(layer, nn.ReLU(), layer)
    assert len(list(model.parameters())) == 2
    assert [name for name, _ in model.named_modules()] == ["", "0", "1"]
    assert [name for name, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "1", "2"]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_replacing_and_deleting_changes_what_is_registered() -> None:
    block = Block()
    block.first = nn.Identity()
    assert "first.weight" not in block.state_dict()
    block.scale = None
    assert "scale" not in dict(block.named_parameters())
    block.scale = nn.Parameter(wb.zeros(1))
    del block.second
    assert [name for name, _ in block.named_modules()] == ["", "first"]
    block.count = wb.ones(3)
    assert block.state_dict()["count"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda b: setattr(b, "scale", 3), TypeError, "cannot assign 'int' object to parameter 'scale'"),
        (
            lambda b: setattr(b, "first", wb.ones(1)),
            TypeError,
            "cannot assign 'Tensor' object to child module 'first'",
        ),
        (lambda b: setattr(b, "count", 1.0), TypeError, "to buffer 'count' (Tensor or None required)"),
        (lambda b: b.register_buffer("a.b", wb.ones(1)), KeyError, "has no '.'"),
        (lambda b: b.register_buffer("forward", wb.ones(1)), KeyError, "attribute 'forward' already exists"),
        (lambda b: b.add_module("x", 3), TypeError, "int is not a Module subclass"),
        (lambda b: b.register_parameter("x", wb.ones(1)), TypeError, "nn.Parameter or None required"),
        (lambda b: b.get_submodule("secnd.1"), AttributeError, "Did you mean `second`?"),
        (lambda b: b.get_parameter("first.wait"), AttributeError, "Linear has no parameter `wait`"),
        (
            lambda b: b.set_submodule("third", nn.ReLU(), strict=True),
            AttributeError,
            "has no module `third` to replace",
        ),
        (lambda b: b.train("yes"), ValueError, "training mode is expected to be boolean"),
        (
            lambda b: b.to("int64"),
            TypeError,
            "only accepts floating point or complex dtypes, but got desired dtype=int64",
        ),
        (lambda b: b.register_forward_hook(1), TypeError, "a hook is called, and int cannot be"),
        (lambda b: nn.Parameter(np.ones(2)), TypeError, "use wb.tensor(...) first"),
        (lambda b: nn.Module()(1), TypeError, 'missing the required "forward" function'),
        (lambda b: nn.Sequential(nn.ReLU())[1], IndexError, "index 1 is out of range"),
    ],
)
def test_bad_changes_are_refused_and_change_nothing(
    change: object, error: type[Exception], message: str
) -> None:
    block = Block()
    before = list(block.state_dict())
    with pytest.raises(error) as caught:
        change(block)  # type: ignore[operator]
    assert message in str(caught.value)
    assert list(block.state_dict()) == before


def test_a_module_that_forgot_its_init_says_so() -> None:
    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.ReLU()

    with pytest.raises(
        AttributeError, match=r"before Module.__init__\(\) call: write super\(\).__init__\(\) first"
    ):
        Forgetful()


def test_train_and_eval_reach_everything_below() -> None:
    block = Block().eval()
    assert not any(module.training for module in block.modules())
    block.second.train()
    assert [name for name, module in block.named_modules() if module.training] == [
        "second",
        "second.0",
        "second.1",
    ]


def test_hooks_see_and_change_inputs_and_outputs_until_removed() -> None:
    layer = nn.Identity()
    seen = []
    first = layer.register_forward_pre_hook(lambda module, inputs: inputs[0] + 1)
    second = layer.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].item()))
    third = layer.register_forward_hook(lambda module, inputs, output: output * 10)
    assert layer(wb.tensor(1.0)).item() == 20
    assert seen == [2.0]
    first()
    third.remove()
    assert layer(wb.tensor(1.0)).item() == 1
    second()
    assert layer(wb.tensor(1.0)).item() == 1
    assert seen == [2.0, 1.0]
    assert not layer._hooked


def test_the_scope_is_known_while_tracked_and_only_then() -> None:
    block = Block()
    seen = []
    block.second[1].register_forward_hook(lambda *_: seen.append((scope.current(), scope.module())))
    with scope.tracking(block):
        assert scope.current() == ()
        block(wb.zeros(1, 3))
    block(wb.zeros(1, 3))
    assert seen == [(("second", "1"), block.second[1]), ((), None)]
    assert scope.active == 0


def test_the_scope_is_left_when_a_call_fails() -> None:
    block = Block()
    with scope.tracking(block):
        with pytest.raises(wb.DimensionError):
            block(wb.zeros(1, 5))
        assert scope.current() == ()
    assert scope.active == 0


def test_a_module_that_the_tracked_one_does_not_hold_is_named_by_its_type() -> None:
    class Maker(nn.Module):
        def forward(self, x: wb.Tensor) -> wb.Tensor:
            made = nn.ReLU()
            made.register_forward_hook(lambda *_: seen.append(scope.current()))
            return made(x)

    seen: list[tuple[str, ...]] = []
    model = nn.Sequential(Maker())
    with scope.tracking(model):
        model(wb.zeros(1))
    assert seen == [("0", "ReLU")]


def test_the_state_goes_round() -> None:
    one, other = Block(), Block()
    result = other.load_state_dict(one.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        assert a is not b
        assert not np.shares_memory(a.payload, b.payload)
        assert b.requires_grad


def test_arrays_load_and_names_stay() -> None:
    layer = nn.Linear(2, 3)
    layer.load_state_dict({"weight": np.ones((3, 2)), "bias": np.zeros(3, np.float32)})
    assert layer.weight.detach().numpy().dtype == np.float32
    assert layer.weight.dim_labels == ("out_features", "in_features")


def test_all_that_is_wrong_with_a_state_is_told_at_once_and_nothing_changes() -> None:
    block = Block()
    before = {key: value.numpy().copy() for key, value in block.state_dict().items()}
    state = {key: np.full_like(value, 7) for key, value in before.items()}
    state["first.weihgt"] = state.pop("first.weight")
    state["second.1.weight"] = np.zeros((9, 4), np.float32)
    state["scale"] = "text"
    state["count"] = wb.zeros(2, names=("N",)).numpy().astype(complex)
    with pytest.raises(RuntimeError) as caught:
        block.load_state_dict(state)
    words = str(caught.value)
    for part in (
        'Missing key(s) in state_dict: "first.weight"',
        'Unexpected key(s) in state_dict: "first.weihgt" (is it "first.weight"?)',
        "size mismatch for second.1.weight: copying a param with shape [9, 4]",
        "the shape in current model is [2, 4]",
        '"scale": expected a tensor or an array, got str',
        "type mismatch for count: complex128 does not go into float32",
        "nothing was changed",
    ):
        assert part in words
    for key, value in block.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])


def test_a_state_that_is_not_strict_lists_keys_both_ways() -> None:
    block = Block()
    result = block.load_state_dict({"scale": wb.zeros(1), "more": wb.zeros(1)}, strict=False)
    assert result.missing_keys == ["count", "first.weight", "first.bias", "second.1.weight"]
    assert result.unexpected_keys == ["more"]
    assert block.scale.item() == 0


def test_other_names_in_a_state_are_refused() -> None:
    layer = nn.Linear(2, 2, bias=False)
    with pytest.raises(RuntimeError, match="name mismatch for weight"):
        layer.load_state_dict({"weight": wb.zeros(in_features=2, out_features=2)})


def test_a_resizable_buffer_takes_the_size_that_is_loaded() -> None:
    class Histogram(nn.Module):
        resizable = ("bins",)

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("bins", wb.zeros(0))

    one = Histogram()
    one.load_state_dict({"bins": wb.ones(5)})
    assert one.bins.shape == (5,)


def test_a_copy_shares_nothing() -> None:
    block = Block()
    other = copy.deepcopy(block)
    with wb.no_grad():
        other.scale.fill_(5.0)
    assert block.scale.item() == 1
    assert [name for name, _ in other.named_parameters()] == [name for name, _ in block.named_parameters()]
    other.first = nn.Identity()
    assert isinstance(block.first, nn.Linear)


def test_zero_grad_apply_cast_and_requires_grad() -> None:
    block = Block()
    block(wb.ones(2, 3)).sum().backward()
    assert block.scale.grad is not None
    block.zero_grad(set_to_none=False)
    assert block.scale.grad.item() == 0
    block.zero_grad()
    assert block.scale.grad is None
    names: list[str] = []
    block.apply(lambda module: names.append(type(module).__name__))
    assert names == ["Linear", "ReLU", "Linear", "Sequential", "Block"]
    assert block.double()(wb.ones(2, 3, dtype="float64")).dtype is wb.float64
    assert block.count.dtype is wb.float64
    assert not any(parameter.requires_grad for parameter in block.requires_grad_(False).parameters())


def test_printed_form() -> None:
    assert repr(Block()) == (
        "Block(\n"
        "  (first): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (second): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=4, out_features=2, bias=False)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Conv2d(4, 8, 3, padding="same", groups=2, bias=False)) == (
        "Conv2d(4, 8, kernel_size=(3, 3), stride=(1, 1), padding=same, groups=2, bias=False)"
    )


def test_an_error_says_in_which_module_it_arose_seen_from_the_outermost() -> None:
    model = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    with pytest.raises(wb.DimensionError) as caught:
        model(wb.zeros(N=2, features=3))
    assert caught.value.__notes__ == ["in module 0.1 (Linear) of Sequential"]
    assert caught.value.operands[1].names == ("out_features", "in_features")
    assert caught.value.operands[1].marks == (False, True)
    with pytest.raises(wb.DimensionError) as caught:
        nn.Linear(4, 2)(wb.zeros(N=2, features=3))
    assert caught.value.__notes__ == ["in module Linear"]


def test_containers() -> None:
    model = nn.Sequential({"one": nn.Linear(2, 3), "two": nn.ReLU()})
    assert model.one is model[0]
    assert len(model) == 2
    assert isinstance(model[-1], nn.ReLU)
    assert [type(module).__name__ for module in model[:1]] == ["Linear"]
    model[1] = nn.Tanh()
    assert isinstance(model.two, nn.Tanh)
    model.append(nn.Identity())
    assert list(dict(model.named_children())) == ["one", "two", "2"]
    layers = nn.ModuleList([nn.ReLU(), nn.Linear(1, 1)])
    layers.extend([nn.Tanh()])
    assert [type(layer).__name__ for layer in layers] == ["ReLU", "Linear", "Tanh"]
    assert list(layers.state_dict()) == ["1.weight", "1.bias"]


def test_zeroing_gradients_that_are_not_there_does_nothing() -> None:
    layer = wb.nn.Linear(2, 1)
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad is None
    layer(wb.ones(1, 2)).sum().backward()
    layer.bias.grad = None
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad.tolist() == [[0, 0]]
    assert layer.bias.grad is None


def test_a_change_without_recursion_is_of_the_module_itself() -> None:
    class Holder(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = wb.nn.Parameter(wb.ones(1))
            self.inner = wb.nn.Linear(1, 1)

    model = Holder()
    model._apply(lambda value: value.to(wb.float64), recurse=False)
    assert model.scale.dtype is wb.float64
    assert model.inner.weight.dtype is wb.float32
    model.to_empty(device="cpu", recurse=False)
    assert model.scale.dtype is wb.float64


def test_an_error_in_a_module_that_is_not_held_keeps_what_was_said_further_in() -> None:
    inner = wb.nn.Sequential(wb.nn.Linear(3, 2))

    class Borrows(wb.nn.Module):
        def forward(self, x: wb.Tensor) -> wb.Tensor:
            result: wb.Tensor = inner(x)
            return result

    with pytest.raises(wb.DimensionError) as caught:
        wb.nn.Sequential(Borrows())(wb.zeros(1, 4))
    assert caught.value.__notes__ == ["in module 0 (Linear) of Sequential"]


def test_a_module_that_holds_itself_is_refused() -> None:
    class Parent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = nn.Sequential(nn.Module())

    parent = Parent()
    for assign in (
        lambda: setattr(parent, "own", parent),
        lambda: parent.add_module("own", parent),
        lambda: parent.register_module("own", parent),
    ):
        with pytest.raises(ValueError, match=r"'own', as it is this module itself: .* self.own = \[module\]"):
            assign()
    for assign in (
        lambda: setattr(parent.child[0], "parent", parent),
        lambda: parent.child.append(parent),
        lambda: parent.child.__setitem__(0, parent),
    ):
        with pytest.raises(ValueError, match=r"as it holds this (Module|Sequential): modules are a tree"):
            assign()
    assert len(list(parent.modules())) == 3
    parent.child[0].parent = [parent]
    parent.again = parent.child[0]  # the same one twice is no circle
    assert repr(parent).count("Module()") == 2


@pytest.mark.parametrize("name", ["weight", "seen", "inner"])
def test_a_name_of_one_kind_is_not_taken_by_another(name: str) -> None:
    module = nn.Linear(2, 2)
    module.register_buffer("seen", wb.zeros(2))
    module.add_module("inner", nn.ReLU())
    before = {**module.__dict__}
    ways = {
        "weight": lambda: module.register_parameter(name, nn.Parameter(wb.ones(2, 2))),
        "seen": lambda: module.register_buffer(name, wb.ones(2)),
        "inner": lambda: module.add_module(name, nn.Tanh()),
    }
    own = ways.pop(name)
    for way in ways.values():
        with pytest.raises(KeyError, match=f"attribute '{name}' already exists"):
            way()
    assert module.__dict__ == before
    own()
    assert module.__dict__[name] is not before[name]
