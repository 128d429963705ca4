"""The small networks that Captum's tests explain, by their names there.

Most have weights that can be worked out by hand; those whose weights are drawn are given the recorded ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import workbench as wb
from workbench import nn
from workbench.nn import functional as F

__all__ = ["NETWORKS", "network"]


class Function(nn.Module):
    """A network without weights."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


class TwoReLUs(nn.Module):
    """``2·relu(x) + k·relu(y - 1.5)``, or with another function."""

    def __init__(self, kind: type[nn.Module], names: tuple[str, str]) -> None:
        super().__init__()
        self.names = names
        for name in names:
            setattr(self, name, kind())

    def forward(self, x: Any, y: Any, k: Any = 2) -> Any:
        first, second = (getattr(self, name) for name in self.names)
        return 2 * first(x) + k * second(y - 1.5)


class Layers(nn.Module):
    """Identity, a sum of three with four biases, ReLU, a sum of four; by choice a module of two inputs between."""

    def __init__(self, inplace: bool = False, multi_input_module: bool = False) -> None:
        super().__init__()
        self.pairs = multi_input_module
        self.linear0, self.linear1, self.linear1_alt = nn.Linear(3, 3), nn.Linear(3, 4), nn.Linear(3, 4)
        self.multi_relu = TwoOfTwo(inplace)
        self.relu, self.linear2 = nn.ReLU(inplace), nn.Linear(4, 2)

    def forward(self, x: Any, add_input: Any = None, multidim_output: bool = False) -> Any:
        x = x if add_input is None else x + add_input
        hidden = self.linear1(self.linear0(x))
        if self.pairs:
            first, second = self.multi_relu(hidden, self.linear1_alt(x))
            self.relu(hidden)  # runs, and nothing comes of it
            out = self.linear2(first + second)
        else:
            out = self.linear2(self.relu(hidden))
        if not multidim_output:
            return out
        wide = wb.stack((out, 2 * out), 2)
        return wb.stack((wide, 4 * wide), 3)


class TwoOfTwo(nn.Module):
    def __init__(self, inplace: bool) -> None:
        super().__init__()
        self.relu1, self.relu2 = nn.ReLU(inplace), nn.ReLU(inplace)

    def forward(self, x: Any, y: Any) -> Any:
        return self.relu1(x), self.relu2(y)


class SumOfInputs(nn.Module):
    """`Layers` of the sum of three inputs, scaled."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Layers()

    def forward(self, x: Any, y: Any, z: Any, scale: Any) -> Any:
        return self.model(scale * (x + y + z))


class TrulySeveral(nn.Module):
    """`Layers` of the first input, and of the sum of others."""

    def __init__(self) -> None:
        super().__init__()
        self.m1, self.m234 = Layers(), SumOfInputs()

    def forward(self, x: Any, y: Any, z: Any, last: Any = None) -> Any:
        return self.m1(x) + self.m234(y, z, x if last is None else last, scale=1)


class OfTruths(nn.Module):
    """`Layers` of truth values."""

    def __init__(self) -> None:
        super().__init__()
        self.mod = Layers()

    def forward(self, x: Any, add_input: Any = None, mult: float = 10.0) -> Any:
        assert x.dtype == wb.bool
        return self.mod(x.float() * mult, add_input)


class OneConvolution(nn.Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.conv1, self.fc1 = nn.Conv2d(1, 2, 3), nn.Linear(8, 4)
        self.relu1, self.relu2 = nn.ReLU(inplace), nn.ReLU(inplace)

    def forward(self, x: Any, more: Any = None) -> Any:
        x = x if more is None else x + more
        return self.relu2(self.fc1(self.relu1(self.conv1(x)).view(-1, 8)))


class Spread(nn.Module):
    """A convolution with padding, steps and gaps, and a linear layer of each channel."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3, padding=3, stride=2, dilation=2)
        self.relu1, self.fc1 = nn.ReLU(inplace), nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        return self.fc1(self.relu1(self.conv1(x)).reshape(x.shape[0], 2, -1)).reshape(x.shape[0], -1)


class Convolutions(nn.Module):
    """Two convolutions, each with a ReLU and a pooling; two linear layers; a softmax."""

    def __init__(self, convolution: Any = nn.Conv2d, pooling: Any = nn.MaxPool2d) -> None:
        super().__init__()
        self.conv1, self.conv2 = convolution(1, 2, 3), convolution(2, 4, 3)
        self.pool1, self.pool2 = pooling(2), pooling(2)
        self.relu1, self.relu2, self.relu3 = nn.ReLU(), nn.ReLU(), nn.ReLU()
        self.fc1, self.fc2, self.softmax = nn.Linear(4, 8), nn.Linear(8, 10), nn.Softmax(1)

    def forward(self, x: Any) -> Any:
        x = self.pool1(self.relu1(self.conv1(x)))
        x = self.pool2(self.relu2(self.conv2(x))).view(-1, 4)
        return self.softmax(self.fc2(self.relu3(self.fc1(x))))


class Classifier(nn.Module):
    """Linear layers with ReLUs between, ended by a softmax or a sigmoid."""

    def __init__(self, sizes: tuple[int, ...], end: nn.Module, name: str, inplace: bool, bias: bool) -> None:
        super().__init__()
        self.count = len(sizes) - 1
        for number in range(self.count):
            setattr(self, f"lin{number + 1}", nn.Linear(sizes[number], sizes[number + 1], bias=bias))
            if number < self.count - 1:
                setattr(self, f"relu{number + 1}", nn.ReLU(inplace))
        self.end = name
        setattr(self, name, end)

    def forward(self, x: Any) -> Any:
        for number in range(1, self.count):
            x = getattr(self, f"relu{number}")(getattr(self, f"lin{number}")(x))
        return getattr(self, self.end)(getattr(self, f"lin{self.count}")(x))


class TwoLinearSums(nn.Module):
    """ReLUs of a linear layer each of two inputs, added up."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.l1, self.l2 = nn.Linear(3, 1, bias=False), nn.Linear(3, 1, bias=False)
        self.relu, self.l3 = nn.ReLU(inplace), nn.Linear(2, 1, bias=False)

    def forward(self, x: Any, y: Any, k: Any = 1) -> Any:
        return self.l3(self.relu(wb.cat([self.l1(x), k * self.l2(y)], 1)))


class LinearPooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin1, self.pool1 = nn.Linear(4, 4, bias=False), nn.MaxPool1d(4)
        self.lin2 = nn.Linear(1, 1, bias=False)

    def forward(self, x: Any) -> Any:
        return self.lin2(self.pool1(self.lin1(x.unsqueeze(1)))[:, 0, :])


class PooledRectified(nn.Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.maxpool, self.relu = nn.MaxPool1d(3), nn.ReLU(inplace)

    def forward(self, x: Any) -> Any:
        return self.relu(self.maxpool(x)).sum(1)


class OneReLUTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin1, self.relu, self.lin2 = nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.relu(self.lin2(self.relu(self.lin1(x))))


class OneLinearTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin1, self.relu = nn.Linear(3, 3), nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.relu(self.lin1(self.relu(self.lin1(x))))


class WeighedTogether(nn.Module):
    """A linear layer of two inputs side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(7, 1)

    def forward(self, x: Any, y: Any) -> Any:
        return self.linear(wb.cat((x, y), -1))


class Named(nn.Module):
    """Modules one after the other, by name."""

    def __init__(self, **modules: nn.Module) -> None:
        super().__init__()
        self.order = tuple(modules)
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x: Any) -> Any:
        for name in self.order:
            x = getattr(self, name)(x)
        return x


class Words(nn.Module):
    """Two tables of words, one in a module of its own, and two linear layers."""

    def __init__(
        self,
        words: int = 30,
        features: int = 100,
        hidden: int = 256,
        out: int = 1,
        nested_second_embedding: bool = False,
    ) -> None:
        super().__init__()
        self.embedding1, self.embedding2 = (
            nn.Embedding(words, features),
            Table(words, features, nested_second_embedding),
        )
        self.linear1, self.relu = nn.Linear(features, hidden, bias=False), nn.ReLU()
        self.linear2 = nn.Linear(hidden, out)

    def forward(self, x: Any, y: Any, z: Any = None) -> Any:
        return self.linear2(self.relu(self.linear1(self.embedding1(x) + self.embedding2(y, z)))).sum(1)


class Table(nn.Module):
    def __init__(self, words: int, features: int, second: bool) -> None:
        super().__init__()
        self.inner_embedding = nn.Embedding(words, features)
        if second:
            self.inner_embedding2 = nn.Embedding(words, features)

    def forward(self, x: Any, y: Any = None) -> Any:
        found = self.inner_embedding(x)
        return found if y is None else found + self.inner_embedding2(y)


class FewIndices(nn.Module):
    """One number of a whole batch, and of a list of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.lin1 = nn.Linear(3, 1)

    def forward(self, x: Any, few: Any) -> Any:
        return (self.lin1(x) + (few[0] if few.numel() else 0)).sum()


class Skipping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.add = nn.Linear(2, 2, bias=False), Added()

    def forward(self, x: Any) -> Any:
        return self.add(self.linear(x), x)


class FirstOfBatch(nn.Module):
    """Gives one row, whatever the number of samples."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.relu = nn.Linear(2, 2), nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.relu(self.lin(x))[:1]


class Added(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y


class Flattened(nn.Module):
    """A linear layer of all inputs, flattened, side by side: 7 values."""

    def __init__(self, wide: int = 7) -> None:
        super().__init__()
        self.linear = nn.Linear(wide, 1)

    def forward(self, *inputs: Any) -> Any:
        return self.linear(wb.cat([one.flatten(1) for one in inputs], 1))


def _squashed() -> nn.Module:
    return Named(linear=nn.Linear(3, 3, bias=False), tanh=nn.Tanh(), linear2=nn.Linear(3, 1, bias=False))


def _ratio(x: Any, y: Any, factor: Any, column: int = 0) -> Any:
    return F.relu(F.relu(x - 1) - F.relu(y) / factor)[:, column]


def _scaled(x: Any, y: Any, factors: Any, column: int = 0) -> Any:
    return F.relu(F.relu(x - 1) * factors[0] - F.relu(y) * factors[1])[:, column]


def _functions(function: Callable[..., Any]) -> Callable[[], nn.Module]:
    return lambda: Function(function)


NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "BasicModel": _functions(lambda x: 1 - F.relu(1 - x)),
    "BasicModel2": _functions(lambda x, y: F.relu(F.relu(x) - 1 - F.relu(y))),
    "BasicModel3": _functions(lambda x, y: F.relu(F.relu(x - 1) - F.relu(y))),
    "BasicModel4_MultiArgs": _functions(_ratio),
    "BasicModel5_MultiArgs": _functions(_scaled),
    "BasicModel6_MultiTensor": _functions(lambda x, y: 1 - F.relu(1 - (x + y))[:, 1]),
    "BasicLinearModel": WeighedTogether,
    "BasicLinearModel2": lambda wide, narrow: Named(linear=nn.Linear(wide, narrow, bias=False)),
    "BasicLinearModel_Multilayer": lambda wide, hidden, narrow: Named(
        linear1=nn.Linear(wide, hidden, bias=False), linear2=nn.Linear(hidden, narrow, bias=False)
    ),
    "BasicLinearReLULinear": lambda wide, hidden=5, bias=False: Named(
        fc1=nn.Linear(wide, hidden, bias=bias), relu1=nn.ReLU(), fc2=nn.Linear(hidden, 1, bias=bias)
    ),
    "ReLUDeepLiftModel": lambda: TwoReLUs(nn.ReLU, ("relu1", "relu2")),
    "TanhDeepLiftModel": lambda: TwoReLUs(nn.Tanh, ("tanh1", "tanh2")),
    "LinearMaxPoolLinearModel": LinearPooled,
    "BasicModelWithReusedModules": OneReLUTwice,
    "BasicModelWithReusedLinear": OneLinearTwice,
    "BasicModelWithSparseInputs": FewIndices,
    "BasicModel_MaxPool_ReLU": PooledRectified,
    "ReLULinearModel": TwoLinearSums,
    "SimpleLRPModel": lambda inplace: Named(
        linear=nn.Linear(3, 3, bias=False),
        relu=nn.ReLU(inplace),
        linear2=nn.Linear(3, 1, bias=False),
        dropout=nn.Dropout(0.01),
    ),
    "Conv1dSeqModel": lambda: Named(seq=nn.Sequential(nn.Conv1d(4, 2, 1), nn.ReLU(), nn.Linear(1000, 1))),
    "BasicEmbeddingModel": Words,
    "BasicModel_MultiLayer": Layers,
    "BasicModelBoolInput": OfTruths,
    "BasicModel_MultiLayer_MultiInput": SumOfInputs,
    "BasicModel_MultiLayer_TrueMultiInput": TrulySeveral,
    "BasicModel_ConvNet_One_Conv": OneConvolution,
    "BasicModel_ConvNetWithPaddingDilation": Spread,
    "BasicModel_ConvNet": Convolutions,
    "BasicModel_ConvNet_MaxPool1d": lambda: Convolutions(nn.Conv1d, nn.MaxPool1d),
    "BasicModel_ConvNet_MaxPool3d": lambda: Convolutions(nn.Conv3d, nn.MaxPool3d),
    "SigmoidModel": lambda wide, hidden, out: Classifier(
        (wide, hidden, out), nn.Sigmoid(), "sigmoid", False, True
    ),
    "SigmoidDeepLiftModel": lambda wide, hidden, out: Classifier(
        (wide, hidden, out), nn.Sigmoid(), "sigmoid", False, False
    ),
    "SoftmaxModel": lambda wide, hidden, out, inplace=False: Classifier(
        (wide, hidden, hidden, out), nn.Softmax(1), "softmax", inplace, True
    ),
    "SoftmaxDeepLiftModel": lambda wide, hidden, out: Classifier(
        (wide, hidden, hidden, out), nn.Softmax(1), "softmax", False, True
    ),
    "Test.test_lrp_skip_connection.<locals>.SkipConnection": Skipping,
    "Test.test_lrp_maxpool1D.<locals>.MaxPoolModel": lambda: Named(
        linear=nn.Linear(2, 2, bias=False), maxpool=nn.MaxPool1d(2)
    ),
    "Test.test_lrp_maxpool2D.<locals>.MaxPoolModel": lambda: Named(maxpool=nn.MaxPool2d(2)),
    "Test.test_lrp_maxpool3D.<locals>.MaxPoolModel": lambda: Named(maxpool=nn.MaxPool3d(2)),
    "Test.test_lrp_simple_tanh.<locals>.Model": _squashed,
    "_get_simple_model2.<locals>.MyModel": FirstOfBatch,
    "Linear": Flattened,
    "Sequential": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True)),
}


def network(name: str, arguments: list[Any], keywords: dict[str, Any]) -> nn.Module:
    """Return a network with the weights that it is made with."""
    return NETWORKS[name](*arguments, **keywords)
