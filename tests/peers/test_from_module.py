"""Modules of PyTorch's made ours: the same outputs, gradients and state, in shared memory."""

from __future__ import annotations

import copy
import inspect
import operator
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.interop.torch import from_module, from_torch

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
tn = torch.nn
prune = pytest.importorskip("torch.nn.utils.prune")
F = tn.functional

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "AdaptiveLogSoftmaxWithLoss": (8, 10, [3, 5]), "Bilinear": (2, 3, 4), "ChannelShuffle": (2,), "CrossMapLRN2d": (2,),
    "Embedding": (5, 3), "EmbeddingBag": (5, 3), "Fold": ((4, 4), 2), "FractionalMaxPool2d": (2, 3),
    "FractionalMaxPool3d": (2, 3), "GRU": (3, 4), "GRUCell": (3, 4), "GroupNorm": (2, 4), "LPPool1d": (2, 3),
    "LPPool2d": (2, 3), "LPPool3d": (2, 3), "LSTM": (3, 4), "LSTMCell": (3, 4), "LayerNorm": (4,), "Linear": (3, 4),
    "LinearCrossEntropyLoss": (3, 4), "LocalResponseNorm": (2,), "LogSoftmax": (1,), "MultiheadAttention": (4, 2),
    "PixelShuffle": (2,), "PixelUnshuffle": (2,), "RMSNorm": (4,), "RNN": (3, 4), "RNNCell": (3, 4), "Softmax": (1,),
    "Softmin": (1,), "Threshold": (0.1, 0.2), "Transformer": (4, 2, 1, 1, 8), "TransformerDecoderLayer": (4, 2),
    "TransformerEncoderLayer": (4, 2), "Unflatten": (1, (2, 2)), "Unfold": (2,), "Upsample": (4,),
    "UpsamplingBilinear2d": (4,), "UpsamplingNearest2d": (4,),
}  # fmt: skip
BY_NAME = {
    "num_features": 4,
    "kernel_size": 2,
    "output_size": 2,
    "padding": 1,
    "value": 0.5,
    "negative_slope": 0.1,
}
BASES = (
    "Container",
    "DataParallel",
    "Module",
    "RNNBase",
    "RNNCellBase",
    "TransformerDecoder",
    "TransformerEncoder",
)


def _required(name: str) -> tuple[Any, ...]:
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    if name.startswith(("Conv", "LazyConv")):
        return (2, 4, 3)
    parameters = inspect.signature(getattr(tn, name)).parameters.values()
    wanted = [
        one.name for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    return tuple(BY_NAME[one] for one in wanted)


LAYERS = sorted(
    name
    for name in vars(wb.nn)
    if inspect.isclass(getattr(wb.nn, name))
    and issubclass(getattr(wb.nn, name), wb.nn.Module)
    and hasattr(tn, name)
    and not name.startswith("Lazy")
    and name not in BASES
)


@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_is_made_from_its_settings(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(tn, name)(*_required(name))
    ours = from_module(theirs)
    assert type(ours) is getattr(wb.nn, name)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    check_shared(ours, theirs)


def check_shared(ours: Any, theirs: Any) -> None:
    for path, one in theirs.named_parameters():
        own = ours.get_parameter(path)
        assert not one.numel() or own.payload.ctypes.data == one.data_ptr(), path
        assert own.requires_grad == one.requires_grad, path
    buffers = dict(ours.named_buffers())
    for path, one in theirs.named_buffers():
        assert buffers[path].payload.ctypes.data == one.data_ptr(), path
    assert [one.training for one in ours.modules()] == [one.training for one in theirs.modules()]


def check_same(ours: Any, theirs: Any, *inputs: Any, atol: float = 2e-5) -> None:
    """Outputs, gradients of the first input and of parameters, and buffers afterwards, are PyTorch's."""
    check_shared(ours, theirs)
    # Both write to the same buffers: the second starts where the first did.
    before = {path: one.clone() for path, one in theirs.named_buffers()}
    own_inputs = [from_torch(one.detach().clone()) for one in inputs]
    if inputs[0].is_floating_point():
        inputs[0].requires_grad_()
        own_inputs[0].requires_grad_()
    wanted = _first(theirs(*inputs))
    wanted.square().sum().backward()
    after = {path: one.clone() for path, one in theirs.named_buffers()}
    with torch.no_grad():
        for path, one in theirs.named_buffers():
            one.copy_(before[path])
    got = _first(ours(*own_inputs))
    (got * got).sum().backward()
    np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), atol=atol, rtol=1e-4)
    for path, one in theirs.named_buffers():
        np.testing.assert_allclose(one.numpy(), after[path].numpy(), atol=atol, rtol=1e-4, err_msg=path)
    if inputs[0].is_floating_point():
        np.testing.assert_allclose(
            own_inputs[0].grad.numpy(), inputs[0].grad.numpy(), atol=50 * atol, rtol=1e-3
        )
    for path, one in theirs.named_parameters():
        grad = ours.get_parameter(path).grad
        assert (grad is None) == (one.grad is None), path
        if grad is not None:
            np.testing.assert_allclose(
                grad.numpy(), one.grad.numpy(), atol=100 * atol, rtol=1e-3, err_msg=path
            )


def _first(output: Any) -> Any:
    return output[0] if isinstance(output, tuple) else output


def test_training_one_trains_the_other() -> None:
    theirs = tn.Sequential(OrderedDict(a=tn.Linear(3, 4), b=tn.ReLU(), c=tn.Linear(4, 2)))
    ours = from_module(theirs)
    assert ours.a.weight.dim_labels == ("out_features", "in_features")
    check_same(ours, theirs, torch.randn(5, 3))
    wb.optim.SGD(ours.parameters(), lr=0.1).step()
    np.testing.assert_array_equal(theirs.a.weight.detach().numpy(), ours.a.weight.detach().numpy())
    torch.optim.SGD(theirs.parameters(), lr=0.1).step()
    check_shared(ours, theirs)
    assert ours.a.weight.tolist() == theirs.a.weight.tolist()
    theirs.eval()
    assert not from_module(theirs).training


class Block(tn.Module):
    """A block as residual networks have it."""

    def __init__(self, inward: int, outward: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = tn.Conv2d(inward, outward, 3, stride, 1, bias=False)
        self.bn1 = tn.BatchNorm2d(outward)
        self.relu = tn.ReLU(inplace=True)
        self.conv2 = tn.Conv2d(outward, outward, 3, 1, 1, bias=False)
        self.bn2 = tn.BatchNorm2d(outward)
        self.downsample = None
        if stride != 1:
            self.downsample = tn.Sequential(tn.Conv2d(inward, outward, 1, stride), tn.BatchNorm2d(outward))

    def forward(self, x: Any) -> Any:
        identity = x
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Net(tn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = tn.Conv2d(3, 8, 3, padding=1)
        self.layers = tn.ModuleList([tn.Sequential(Block(8, 8), Block(8, 16, 2)), Block(16, 16)])
        self.fc = tn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.stem(x))
        for layer in self.layers:
            x = layer(x)
        x = F.adaptive_avg_pool2d(x, 1)
        return self.fc(torch.flatten(x, 1))


@pytest.mark.parametrize("mode", [True, False])
def test_a_residual_network(mode: bool) -> None:
    torch.manual_seed(0)
    theirs = Net().train(mode)
    ours = from_module(theirs)
    assert repr(ours) == repr(theirs)
    check_same(ours, theirs, torch.randn(2, 3, 8, 8))
    named = ours(wb.randn(N=2, C=3, H=8, W=8))
    assert named.shape == (2, 5)


class Odd(tn.Module):
    """Attributes, constants, modes, arguments with defaults, slices and methods in a forward."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = tn.Parameter(torch.tensor([2.0, 3.0]))
        self.register_buffer("offset", torch.ones(2))
        self.register_buffer("hidden", torch.ones(2), persistent=False)
        self.plain = torch.tensor([0.5, 0.25])
        self.inner = tn.ModuleDict({"a": tn.Linear(2, 2)})
        self.weights = tn.ParameterList([tn.Parameter(torch.ones(2, 2))])

    def forward(self, x: Any, factor: float = 2.0, mask: Any = None) -> Any:
        n, c = x.shape
        x = self.inner["a"](x) * self.scale + self.offset - self.plain + self.hidden
        x = torch.cat([x, x[:, :1].expand(n, c)], dim=1).view(x.size(0), 2, -1).transpose(1, 2)
        x = torch.where(x > 0, x, torch.zeros_like(x)).to(torch.float32) @ self.weights[0]
        if mask is not None:
            x = x + mask
        if self.training:
            x = x * 3
        x = F.dropout(x, 0.0, self.training) * factor + torch.arange(2, dtype=torch.float32)
        return x.softmax(-1), {"sum": x.sum(dim=-1, keepdim=True), "max": [torch.max(x, dim=1)[0]]}


@pytest.mark.parametrize("mode", [True, False])
def test_whatever_a_forward_does_to_tensors(mode: bool) -> None:
    torch.manual_seed(0)
    theirs = Odd().train(mode)
    attributes = set(theirs.__dict__)
    ours = from_module(theirs)
    assert set(theirs.__dict__) == attributes
    assert theirs.training is mode
    assert list(ours.state_dict()) == list(theirs.state_dict())
    check_same(ours, theirs, torch.randn(3, 2))
    x = torch.randn(3, 2)
    for switched in (ours, theirs):
        switched.train(not mode)
    got, wanted = ours(x=from_torch(x)), theirs(x)
    for path in (operator.itemgetter("sum"), lambda one: one["max"][0]):
        np.testing.assert_allclose(path(got[1]).detach().numpy(), path(wanted[1]).detach().numpy(), atol=1e-5)
    np.testing.assert_allclose(
        ours(from_torch(x), 3.0, mask=None)[0].detach().numpy(),
        theirs(x, factor=3.0)[0].detach().numpy(),
        atol=1e-5,
    )
    for arguments, keywords, words in (
        ((), {}, "missing the argument 'x'"),
        ((from_torch(x), 2.0, 1), {}, "traced with mask=None"),
        ((from_torch(x),), {"mask": from_torch(x)}, "traced with mask=None"),
        ((from_torch(x),), {"x": 1}, "second argument 'x'"),
        ((1, 2, 3, 4), {}, "takes 3 arguments but 4"),
    ):
        with pytest.raises(TypeError, match=words):
            ours(*arguments, **keywords)


def test_shared_modules_and_parameters_stay_shared_and_names_are_given() -> None:
    theirs = tn.Sequential(tn.Linear(2, 2), tn.Linear(2, 2), tn.ReLU())
    theirs[1].weight = theirs[0].weight
    theirs.append(theirs[0])
    ours = from_module(theirs, names={"0.bias": ("channels",)})
    assert ours[3] is ours[0]
    assert ours[1].weight is ours[0].weight
    assert ours[0].bias.names == ("channels",)
    theirs[0].weight.requires_grad_(False)
    assert not from_module(theirs)[0].weight.requires_grad
    with pytest.raises(ValueError, match="no such parameter or buffer"):
        from_module(theirs, names={"0.wait": ("a",)})
    with pytest.raises(TypeError, match=r"given by path.*read as it is, without an example of its inputs"):
        from_module(theirs, torch.ones(1, 4))


@pytest.mark.parametrize(
    "make",
    [
        lambda: tn.LSTM(3, 4, 2, batch_first=True, bidirectional=True),
        lambda: tn.GRU(3, 4),
        lambda: tn.RNN(3, 4, nonlinearity="relu"),
        lambda: tn.Conv1d(4, 6, 2, padding=1, groups=2, padding_mode="circular"),
        lambda: tn.ConvTranspose1d(4, 6, 2, stride=2, output_padding=1),
        lambda: tn.Sequential(tn.LayerNorm(3), tn.GELU("tanh"), tn.Linear(3, 3, bias=False), tn.Softmax(-1)),
        lambda: tn.GroupNorm(2, 4),
    ],
)  # fmt: skip
def test_layers_compute_the_same(make: Any) -> None:
    torch.manual_seed(0)
    theirs = make()
    check_same(from_module(theirs), theirs, torch.randn(2, 4, 3))


@pytest.mark.skipif(not hasattr(wb.nn, "TransformerEncoderLayer"), reason="there are no transformers")
@pytest.mark.parametrize("mode", [True, False])
def test_a_transformers_encoder(mode: bool) -> None:
    torch.manual_seed(0)
    layer = tn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=True, activation="gelu")
    theirs = tn.TransformerEncoder(layer, 2, tn.LayerNorm(8), enable_nested_tensor=False).train(mode)
    check_same(from_module(theirs), theirs, torch.randn(2, 5, 8))


@pytest.mark.skipif(not hasattr(wb.nn, "Transformer"), reason="there are no transformers")
def test_a_transformer_and_attention() -> None:
    torch.manual_seed(0)
    theirs = tn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)
    check_same(from_module(theirs), theirs, torch.randn(2, 5, 8), torch.randn(2, 3, 8))
    attention = tn.MultiheadAttention(8, 2, bias=False, add_bias_kv=True, kdim=4, vdim=6)
    check_same(
        from_module(attention), attention, torch.randn(5, 2, 8), torch.randn(3, 2, 4), torch.randn(3, 2, 6)
    )


class Repeating(tn.Module):
    def forward(self, x: Any, times: int = 3) -> Any:
        for _ in range(times):
            x = x * 2
        return x


def test_a_number_that_steers_the_program_keeps_its_default() -> None:
    ours = from_module(Repeating())
    assert ours(wb.ones(1)).item() == ours(wb.ones(1), 3).item() == 8
    with pytest.raises(TypeError, match="traced with times=3, and gives results for nothing else"):
        ours(wb.ones(1), times=2)


class Own(tn.Linear):
    """A layer with a forward of its own, on its own parameters."""

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight.abs(), self.bias).clamp(min=0)


class Kept(tn.Linear):
    """A layer that changes nothing of what is computed."""


def test_classes_derived_from_layers() -> None:
    theirs = tn.Sequential(Own(3, 3), Kept(3, 2))
    ours = from_module(theirs)
    assert type(ours[1]) is wb.nn.Linear
    check_same(ours, theirs, torch.randn(2, 3))


class Branching(tn.Module):
    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x


class Foreign(tn.Module):
    def forward(self, x: Any) -> Any:
        return torch.ops.aten.relu(x)


class Missing(tn.Module):
    def forward(self, x: Any) -> Any:
        return x.to_mkldnn()


class Open(tn.Module):
    def forward(self, *inputs: Any) -> Any:
        return inputs[0]


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        (
            Branching,
            "Branching: torch.fx cannot trace its forward, and there is no such layer here: TraceError",
        ),
        (Foreign, "its forward calls .*relu, for which there is no function here"),
        (Missing, "its forward calls Tensor.to_mkldnn, which our tensors do not have"),
        (Open, "its forward takes any number of arguments"),
        (lambda: tn.LazyLinear(3), "it has no sizes yet: call it once first"),
        (lambda: torch.jit.script(tn.Linear(1, 1)), "it is compiled"),
        (lambda: tn.Sequential(Branching()), r"module 'a.b.0' is a .*Branching"),
    ],
)
def test_what_cannot_be_made_is_refused_with_its_place(inner: Any, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = tn.Sequential(OrderedDict(a=tn.Sequential(OrderedDict(b=inner()))))
    with pytest.raises(TypeError, match=r"from_module: module 'a\.b") as caught:
        from_module(theirs)
    assert caught.match(words)
    with pytest.raises(TypeError, match=r"expected a torch.nn.Module, got Linear"):
        from_module(wb.nn.Linear(1, 1))


def test_hooks_come_along_and_those_of_pytorchs_own_are_refused() -> None:
    theirs = tn.Linear(2, 2)
    seen: list[str] = []
    theirs.register_forward_hook(lambda module, inputs, output: seen.append(type(output).__module__))
    theirs.register_forward_pre_hook(lambda module, inputs, keywords: seen.append("before"), with_kwargs=True)
    from_module(theirs)(wb.ones(1, 2))
    assert seen == ["before", "workbench.tensor.tensor"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        normed = torch.nn.utils.weight_norm(tn.Linear(2, 2))
    with pytest.raises(TypeError, match=r"a hook of PyTorch's own|has shape"):
        from_module(normed)


def test_the_random_state_stays() -> None:
    wb.manual_seed(3)
    first = wb.rand(1).item()
    wb.manual_seed(3)
    from_module(tn.Linear(3, 3))
    assert wb.rand(1).item() == first


class Symmetric(tn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).T


def parametrized(layer: Any) -> Any:
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    return layer


def without_weight(layer: Any) -> Any:
    weight = layer.weight.detach()
    del layer.weight
    layer.weight = weight
    return layer


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (parametrized, "parametrize.remove_parametrizations(module, 'weight')"),
        (
            torch.nn.utils.parametrizations.weight_norm,
            "parametrize.remove_parametrizations(module, 'weight')",
        ),
        (
            torch.nn.utils.parametrizations.spectral_norm,
            "parametrize.remove_parametrizations(module, 'weight')",
        ),
        (
            lambda layer: prune.l1_unstructured(layer, "weight", 0.5),
            "prune.remove of torch.nn.utils do",
        ),
        (torch.nn.utils.spectral_norm, "remove_weight_norm, remove_spectral_norm and"),
        (without_weight, "its weight is computed and no parameter of its own"),
    ],
)
def test_a_layer_whose_weight_is_computed_is_refused_with_the_way_out(make: Any, way: str) -> None:
    theirs = tn.Sequential(make(tn.Linear(3, 3)))
    with pytest.raises(TypeError, match=r"module '0' (is|has) a") as caught:
        from_module(theirs)
    assert way in str(caught.value)


def test_a_parametrization_that_is_removed_leaves_a_layer() -> None:
    theirs = parametrized(tn.Linear(3, 3))
    torch.nn.utils.parametrize.remove_parametrizations(theirs, "weight")
    check_same(from_module(theirs), theirs, torch.randn(2, 3))


class Everything(tn.Module):
    """Tensors of its own, changes in place, text, slices, a dict, a module called twice, a size in the program."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = tn.Linear(4, 4)
        self.act = tn.ReLU(inplace=True)
        self.register_buffer("shift", torch.arange(4.0))

    def forward(self, x: Any, scale: float = 2.0) -> Any:
        y = self.act(self.linear(x)) * scale + self.shift
        y.add_(1)
        y = y.reshape(x.shape[0], -1)[:, 1:]
        z = torch.einsum("ij,ij->i", y, y)
        return {"rows": [y, torch.cat([y, y], dim=1)], "sums": (self.linear(x).sum(), z), "scale": scale}


def test_a_traced_module_is_a_graph_of_ours() -> None:
    ours = from_module(Everything())
    graph = wb.graph.check(ours.graph)
    assert sorted(graph.modules) == ["act", "linear"]
    assert graph.modules["linear"] is ours.linear
    written = wb.graph.text(graph)
    assert "modules['linear'](%x)" in written
    assert "%shift : f32[·:4] = parameter()" in written
    (changed,) = (node for node, _ in graph.walk() if wb.graph.called(node.callee) == "Tensor.add_")
    assert [one.name for one in changed.writes] == ["add"]
    (act,) = (node for node, _ in graph.walk() if wb.graph.called(node.callee) == "modules['act']")
    assert [one.name for one in act.writes] == ["linear"]
    held = {value.name: tensor for value, tensor in graph.held().items()}
    x = wb.randn(3, 4)
    expected = ours(x)
    for text in (written, wb.graph.python_text(graph)):
        again = wb.graph.parse(text, held, graph.modules)
        assert wb.graph.text(again) == written
        found = again(x, 2.0)
        assert list(found) == ["rows", "sums", "scale"]
        for one, other in zip(expected["rows"], found["rows"], strict=True):
            np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())
    made: dict[str, Any] = {}
    exec(compile(wb.graph.python_text(graph), "graph", "exec"), made)
    result = made["Everything"](held, held, graph.modules, x, 2.0)
    np.testing.assert_array_equal(result["sums"][1].detach().numpy(), expected["sums"][1].detach().numpy())


def test_a_copy_of_a_traced_module_computes_with_its_own_parameters() -> None:
    ours = from_module(Everything())
    other = copy.deepcopy(ours)
    x = wb.randn(3, 4)
    before = ours(x)["sums"][0].item()
    with wb.no_grad():
        other.linear.weight.zero_()
        other.shift.fill_(7)
    assert ours(x)["sums"][0].item() == before
    assert other(x)["sums"][0].item() != before
    assert other.graph.modules["linear"] is other.linear
    other.shift = wb.zeros(4)  # what stands there now is what is read
    assert other(x)["rows"][0].detach().numpy().max() < 7


def test_passes_leave_what_writes_alone() -> None:
    graph = from_module(Everything()).graph
    cleared = wb.graph.check(wb.graph.passes.dead_code(graph))
    assert "Tensor.add_" in wb.graph.text(cleared)
    assert wb.graph.text(wb.graph.passes.common_subexpressions(graph)) == wb.graph.text(cleared)
