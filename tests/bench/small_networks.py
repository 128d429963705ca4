"""Small whole programs in both libraries, by the same code: their steps are many calls on few values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["PROGRAMS"]

Step = Callable[[], Any]


def _numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def _same(lib: Any, *modules: Any) -> None:
    """Give both libraries' parameters the same small numbers: what a step does must not depend on the draw."""
    draw = np.random.default_rng(1)
    with lib.no_grad():
        for module in modules:
            for one in module.parameters():
                spread = 1 / np.sqrt(max(1, one.shape[-1]))
                numbers = draw.uniform(-spread, spread, tuple(one.shape))
                one.copy_(lib.tensor(numbers, dtype=one.dtype))


def _optimize(optimizer: Any, loss: Callable[[], Any]) -> Step:
    def run() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return run


def _sequence(cell: str) -> Callable[[Any], Step]:
    """Two cells of 51 in a loop over time, batch 97, float64: a closure of L-BFGS (time sequence prediction)."""

    def make(lib: Any) -> Step:
        nn = lib.nn
        kind = getattr(nn, cell)
        first, second, linear = kind(1, 51).double(), kind(51, 51).double(), nn.Linear(51, 1).double()
        _same(lib, first, second, linear)
        data = lib.tensor(np.sin(np.arange(41) / 5 + np.arange(97)[:, None]))
        x, y = data[:, :-1], data[:, 1:]
        parameters = [*first.parameters(), *second.parameters(), *linear.parameters()]
        optimizer = lib.optim.LBFGS(parameters, lr=0.01, max_iter=2)
        loss_of = nn.MSELoss()

        def outputs() -> Any:
            h, c, h2, c2 = (lib.zeros(x.size(0), 51, dtype=lib.double) for _ in range(4))
            found = []
            for one in x.split(1, dim=1):
                if cell == "LSTMCell":
                    h, c = first(one, (h, c))
                    h2, c2 = second(h, (h2, c2))
                else:
                    h = first(one, h)
                    h2 = second(h, h2)
                found += [linear(h2)]
            return lib.cat(found, dim=1)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = loss_of(outputs(), y)
            loss.backward()
            return loss

        return lambda: optimizer.step(closure)

    return make


def _convolutional(batch: int) -> Callable[[Any], Step]:
    """The MNIST example: two convolutions, dropout, two linear layers."""

    def make(lib: Any) -> Step:
        nn, F = lib.nn, lib.nn.functional

        class Net(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, 1), nn.Conv2d(32, 64, 3, 1)
                self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
                self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

            def forward(self, x: Any) -> Any:
                x = F.relu(self.conv2(F.relu(self.conv1(x))))
                x = self.dropout1(F.max_pool2d(x, 2))
                x = self.dropout2(F.relu(self.fc1(lib.flatten(x, 1))))
                return F.log_softmax(self.fc2(x), dim=1)

        net = Net()
        _same(lib, net)
        x, labels = lib.tensor(_numbers(batch, 1, 28, 28)), lib.tensor(np.arange(batch) % 10)
        return _optimize(lib.optim.Adadelta(net.parameters(), lr=1.0), lambda: F.nll_loss(net(x), labels))

    return make


def _words(kind: str) -> Callable[[Any], Step]:
    """The word language model's example: a table, a recurrent layer of 200, 1,000 words, T = 35, batch 20."""

    def make(lib: Any) -> Step:
        nn, F = lib.nn, lib.nn.functional
        table, linear = nn.Embedding(1000, 200), nn.Linear(200, 1000)
        drop = nn.Dropout(0.2)
        if kind == "Transformer":
            layer = nn.TransformerEncoderLayer(200, 2, 200, 0.2)
            body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        else:
            body = getattr(nn, kind)(200, 200, 2, dropout=0.2)
        modules = nn.ModuleList([table, body, linear])
        _same(lib, modules)
        words = np.random.default_rng(0).integers(0, 1000, (36, 20))
        x, labels = lib.tensor(words[:-1]), lib.tensor(words[1:].reshape(-1))
        mask = lib.log(lib.tril(lib.ones(35, 35)))

        def run() -> None:
            modules.zero_grad()
            y = drop(table(x))
            y = body(y, mask=mask) if kind == "Transformer" else body(y)[0]
            scores = F.log_softmax(linear(drop(y)).view(-1, 1000), dim=1)
            F.nll_loss(scores, labels).backward()
            nn.utils.clip_grad_norm_(modules.parameters(), 0.25)
            for one in modules.parameters():
                one.data.add_(one.grad, alpha=-0.01)

        return run

    return make


def _wave(width: int, dtype: str) -> Callable[[Any], Step]:
    """A wave equation by sines: four layers, derivatives up to the second for the equation, and one more to train."""

    def make(lib: Any) -> Step:
        nn = lib.nn

        class Sine(nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, x: Any) -> Any:
                return lib.sin(30 * x)

        sizes = [2, *[width] * 4, 1]
        layers: list[Any] = []
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), Sine()]
        net = nn.Sequential(*layers[:-1]).to(getattr(lib, dtype))
        _same(lib, net)
        points = lib.tensor(_numbers(256, 2) * 0.01, dtype=getattr(lib, dtype))

        def slope(y: Any, x: Any) -> Any:
            return lib.autograd.grad(y, x, lib.ones_like(y), create_graph=True)[0]

        def loss() -> Any:
            x = points.clone().requires_grad_()
            u = net(x)
            first = slope(u, x)
            u_t, u_x = first[:, :1], first[:, 1:]
            u_tt = slope(u_t, x)[:, :1]
            u_xx = slope(u_x, x)[:, 1:]
            return lib.mean((u_tt - u_xx) ** 2) + lib.mean(u_t**2)

        return _optimize(lib.optim.Adam(net.parameters(), lr=1e-5), loss)

    return make


def _adversarial(width: int, batch: int) -> Callable[[Any], Step]:
    """Two nets of tiny layers against each other, with Adam."""

    def make(lib: Any) -> Step:
        nn = lib.nn
        maker = nn.Sequential(
            nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
        )
        judge = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, 1), nn.Sigmoid())
        return _against(lib, maker, judge, (batch, 8), (batch, 2), (batch, 1))

    return make


def _deep_adversarial(lib: Any) -> Step:
    """A tiny DCGAN on images of 16 by 16."""
    nn = lib.nn
    maker = nn.Sequential(
        nn.ConvTranspose2d(16, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    judge = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4, 1, 0, bias=False), nn.Sigmoid(),
    )  # fmt: skip
    return _against(lib, maker, judge, (16, 16, 1, 1), (16, 1, 16, 16), (16, 1, 1, 1))


def _against(lib: Any, maker: Any, judge: Any, noise: Any, real: Any, answers: Any) -> Step:
    _same(lib, maker, judge)
    loss_of = lib.nn.BCELoss()
    of_maker = lib.optim.Adam(maker.parameters(), lr=1e-4, betas=(0.5, 0.999))
    of_judge = lib.optim.Adam(judge.parameters(), lr=1e-4, betas=(0.5, 0.999))
    data = lib.tensor(_numbers(*real))

    def run() -> float:
        yes, no = lib.ones(*answers), lib.zeros(*answers)
        of_judge.zero_grad()
        made = maker(lib.randn(*noise))
        loss = loss_of(judge(data), yes) + loss_of(judge(made.detach()), no)
        loss.backward()
        of_judge.step()
        of_maker.zero_grad()
        other = loss_of(judge(made), yes)
        other.backward()
        of_maker.step()
        return float(loss.item() + other.item())

    return run


def _graph(dense: bool) -> Callable[[Any], Step]:
    """A graph convolution of two layers on 300 nodes, 16 hidden."""

    def make(lib: Any) -> Step:
        nn, F = lib.nn, lib.nn.functional
        draw = np.random.default_rng(0)
        links = (draw.random((300, 300)) < 0.01).astype(np.float32) + np.eye(300, dtype=np.float32)
        links /= links.sum(1, keepdims=True)
        adjacency = lib.tensor(links)
        adjacency = adjacency if dense else adjacency.to_sparse()
        product = lib.mm if dense else lib.spmm
        features, labels = lib.tensor(_numbers(300, 100)), lib.tensor(np.arange(300) % 7)

        class Layer(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self, before: int, after: int) -> None:
                super().__init__()
                self.weight = nn.Parameter(lib.zeros(before, after))
                self.bias = nn.Parameter(lib.zeros(after))

            def forward(self, x: Any) -> Any:
                return product(adjacency, lib.mm(x, self.weight)) + self.bias

        net = nn.ModuleList([Layer(100, 16), Layer(16, 7)])
        _same(lib, net)
        chosen = lib.tensor(np.arange(140))

        def loss() -> Any:
            x = F.dropout(F.relu(net[0](features)), 0.5)
            return F.nll_loss(F.log_softmax(net[1](x), dim=1)[chosen], labels[chosen])

        return _optimize(lib.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4), loss)

    return make


def _letters(lib: Any) -> Step:
    """makemore's perceptron: three letters of 10 features, 200 hidden, batch 32, written without modules."""
    F = lib.nn.functional
    draw = np.random.default_rng(0)
    shapes = [(27, 10), (30, 200), (200,), (200, 27), (27,)]
    parameters = [
        lib.tensor(draw.standard_normal(shape) * 0.1, dtype=lib.float32).requires_grad_() for shape in shapes
    ]
    C, W1, b1, W2, b2 = parameters
    X, Y = lib.tensor(draw.integers(0, 27, (1000, 3))), lib.tensor(draw.integers(0, 27, 1000))

    def run() -> None:
        ix = lib.randint(0, X.shape[0], (32,))
        h = lib.tanh(C[X[ix]].view(-1, 30) @ W1 + b1)
        loss = F.cross_entropy(h @ W2 + b2, Y[ix])
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data += -0.01 * p.grad

    return run


def _reinforce(lib: Any) -> Step:
    """REINFORCE on states of 4 values: ten steps of an episode, batch 1, and one of Adam."""
    nn, F = lib.nn, lib.nn.functional
    policy = nn.Sequential(nn.Linear(4, 128), nn.Dropout(0.6), nn.ReLU(), nn.Linear(128, 2))
    _same(lib, policy)
    optimizer = lib.optim.Adam(policy.parameters(), lr=1e-2)
    states = _numbers(10, 4)
    distribution = lib.distributions.Categorical

    def run() -> None:
        logs = []
        for state in states:
            chances = F.softmax(policy(lib.from_numpy(state).float().unsqueeze(0)), dim=1)
            chosen = distribution(chances)
            action = chosen.sample()
            logs.append(chosen.log_prob(action))
            action.item()
        returns = lib.tensor([float(i) for i in range(10)])
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        losses = [-log * one for log, one in zip(logs, returns, strict=True)]
        optimizer.zero_grad()
        lib.cat(losses).sum().backward()
        optimizer.step()

    return run


def _actor_critic(lib: Any) -> Step:
    """Actor and critic on states of 4 values: ten steps of an episode, batch 1."""
    nn, F = lib.nn, lib.nn.functional
    body, actor, critic = nn.Linear(4, 128), nn.Linear(128, 2), nn.Linear(128, 1)
    modules = nn.ModuleList([body, actor, critic])
    _same(lib, modules)
    optimizer = lib.optim.Adam(modules.parameters(), lr=3e-2)
    states = _numbers(10, 4)
    distribution = lib.distributions.Categorical

    def run() -> None:
        saved = []
        for state in states:
            x = F.relu(body(lib.from_numpy(state)))
            chosen = distribution(F.softmax(actor(x), dim=-1))
            action = chosen.sample()
            saved.append((chosen.log_prob(action), critic(x)))
            action.item()
        policies, values = [], []
        for i, (log, value) in enumerate(saved):
            policies.append(-log * (float(i) - value.item()))
            values.append(F.smooth_l1_loss(value, lib.tensor([float(i)])))
        optimizer.zero_grad()
        (lib.stack(policies).sum() + lib.stack(values).sum()).backward()
        optimizer.step()

    return run


def _meta(lib: Any) -> Step:
    """MAML on sines: four tasks, two inner steps that are differentiated through, a perceptron of 40."""
    nn, F = lib.nn, lib.nn.functional
    net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    _same(lib, net)
    optimizer = lib.optim.Adam(net.parameters(), lr=1e-3)
    x, y = lib.tensor(_numbers(10, 1)), lib.tensor(np.sin(_numbers(10, 1)))

    def outputs(w: Any) -> Any:
        h = F.relu(F.linear(x, w[0], w[1]))
        h = F.relu(F.linear(h, w[2], w[3]))
        return F.linear(h, w[4], w[5])

    def loss() -> Any:
        total = 0.0
        for _ in range(4):
            weights = list(net.parameters())
            for _ in range(2):
                slopes = lib.autograd.grad(F.mse_loss(outputs(weights), y), weights, create_graph=True)
                weights = [w - 0.01 * g for w, g in zip(weights, slopes, strict=True)]
            total = total + F.mse_loss(outputs(weights), y)
        return total / 4

    return _optimize(optimizer, loss)


def _flow(dtype: str) -> Callable[[Any], Step]:
    """A neural ODE: ten steps of Runge and Kutta's through a perceptron of 50, batch 20."""

    def make(lib: Any) -> Step:
        nn = lib.nn
        net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2)).to(getattr(lib, dtype))
        _same(lib, net)
        start = lib.tensor(_numbers(20, 1, 2), dtype=getattr(lib, dtype))
        wanted = lib.tensor(_numbers(11, 20, 1, 2), dtype=getattr(lib, dtype))
        dt = 0.1

        def loss() -> Any:
            y, found = start, [start]
            for _ in range(10):
                k1 = net(y**3)
                k2 = net((y + dt / 2 * k1) ** 3)
                k3 = net((y + dt / 2 * k2) ** 3)
                k4 = net((y + dt * k3) ** 3)
                y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                found.append(y)
            return lib.mean(lib.abs(lib.stack(found) - wanted))

        return _optimize(lib.optim.RMSprop(net.parameters(), lr=1e-3), loss)

    return make


def _variational(lib: Any) -> Step:
    """The VAE of the examples: 784-400-20, batch 64 (smaller than there)."""
    nn, F = lib.nn, lib.nn.functional
    fc1, fc21, fc22 = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
    fc3, fc4 = nn.Linear(20, 400), nn.Linear(400, 784)
    modules = nn.ModuleList([fc1, fc21, fc22, fc3, fc4])
    _same(lib, modules)
    x = lib.tensor(np.random.default_rng(0).random((64, 1, 28, 28), np.float32))

    def loss() -> Any:
        h = F.relu(fc1(x.view(-1, 784)))
        mu, logvar = fc21(h), fc22(h)
        std = lib.exp(0.5 * logvar)
        z = mu + lib.randn_like(std) * std
        y = lib.sigmoid(fc4(F.relu(fc3(z))))
        bce = F.binary_cross_entropy(y, x.view(-1, 784), reduction="sum")
        return bce - 0.5 * lib.sum(1 + logvar - mu.pow(2) - logvar.exp())

    return _optimize(lib.optim.Adam(modules.parameters(), lr=1e-3), loss)


PROGRAMS: dict[str, Callable[[Any], Step]] = {
    "LSTM cells in a loop, float64": _sequence("LSTMCell"),
    "GRU cells in a loop, float64": _sequence("GRUCell"),
    "MNIST's CNN, batch 64": _convolutional(64),
    "MNIST's CNN, batch 8": _convolutional(8),
    "words, RNN of 200": _words("RNN"),
    "words, LSTM of 200": _words("LSTM"),
    "words, GRU of 200": _words("GRU"),
    "words, transformer of 200": _words("Transformer"),
    "SIREN, wave equation, width 64": _wave(64, "float32"),
    "SIREN, wave equation, width 64, float64": _wave(64, "float64"),
    "SIREN, wave equation, width 256": _wave(256, "float32"),
    "GAN of 16, batch 32": _adversarial(16, 32),
    "GAN of 128, batch 64": _adversarial(128, 64),
    "tiny DCGAN": _deep_adversarial,
    "graph convolution, dense": _graph(dense=True),
    "graph convolution, sparse": _graph(dense=False),
    "makemore's perceptron": _letters,
    "REINFORCE": _reinforce,
    "actor and critic": _actor_critic,
    "MAML, two inner steps": _meta,
    "neural ODE": _flow("float32"),
    "neural ODE, float64": _flow("float64"),
    "VAE": _variational,
}
"""Each makes a step of one library's."""
