"""Run public programs and write down their losses: a program of PyTorch's, for PyTorch or what answers for it.

``python drive.py sources out.json [--nudge] [--double] [names…]`` runs with PyTorch, and with ``-m workbench.torch``
in front with the workbench. Weights and draws are NumPy's, so that they are the same in both. With ``--nudge`` the last
bit of each weight is another: how far the losses then go says where chaos sets in. With ``--double`` models compute in
float64.
"""

import contextlib
import importlib
import io
import json
import os
import random
import runpy
import signal
import sys
import traceback

import numpy as np
import torch
import torch.nn.functional as F
from listing import OWN, PROGRAMS
from torch import nn, optim

STEPS = 10
OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "programs", "scripts")
LONGEST = 120
"""Seconds that one program may take."""


class Enough(BaseException):
    """The program has taken its steps; no `except Exception` of its own may keep it."""


class Draws:
    """What is drawn, by NumPy: weights and noise, each from a stream of its own."""

    def __init__(self, nudge, double):
        self.weights, self.noise = np.random.default_rng(1), np.random.default_rng(2)
        # Of its own: PyTorch's layers draw their first weights by methods of tensors, and ours otherwise.
        self.inside = np.random.default_rng(4)
        self.nudge = nudge
        self.kind = np.float64 if double else np.float32

    def fill(self, parameters):
        """Give parameters numbers: matrices by what goes in, all ones such about 1, other vectors small ones."""
        with torch.no_grad():
            for parameter in parameters:
                shape = tuple(parameter.shape)
                drawn = self.weights.normal(size=shape) * (
                    np.prod(shape[1:]) ** -0.5 if len(shape) > 1 else 0.05
                )
                if shape and bool((parameter == 1).all()):
                    drawn = drawn + 1
                drawn = np.asarray(drawn, self.kind)
                if self.nudge:
                    # Some up and some down: all in one direction, a norm takes them out again.
                    ends = np.sign(np.random.default_rng(drawn.size).normal(size=shape)) * np.inf
                    drawn = np.asarray(np.nextafter(drawn, ends.astype(self.kind)))
                parameter.copy_(torch.from_numpy(drawn).to(parameter.dtype))

    def patch(self):
        """Let the library's functions that draw draw here, and let dropout be off."""

        def sizes(given):
            return tuple(given[0]) if len(given) == 1 and not isinstance(given[0], int) else given

        def made(array, settings):
            kept = {key: settings[key] for key in ("dtype", "device", "requires_grad") if key in settings}
            requires = kept.pop("requires_grad", False)
            tensor = (
                torch.from_numpy(np.asarray(array)).to(**kept)
                if kept
                else torch.from_numpy(np.asarray(array))
            )
            return tensor.requires_grad_() if requires else tensor

        def normal(*given, size=None, **settings):
            return made(self.noise.normal(size=sizes(given or (size,))).astype(self.kind), settings)

        def uniform(*given, size=None, **settings):
            return made(self.noise.random(size=sizes(given or (size,))).astype(self.kind), settings)

        def whole(low, high=None, size=None, **settings):
            low, high, size = (0, low, high) if size is None else (low, high, size)
            return made(self.noise.integers(low, high, tuple(size)), settings)

        def into(tensor, values):
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(np.asarray(values, self.kind)).to(tensor.dtype))
            return tensor

        torch.randn, torch.rand, torch.randint = normal, uniform, whole
        torch.randn_like = lambda x, **settings: normal(*x.shape, **settings)
        torch.rand_like = lambda x, **settings: uniform(*x.shape, **settings)
        torch.randperm = lambda n, **settings: made(self.noise.permutation(n), settings)
        torch.Tensor.normal_ = lambda x, mean=0.0, std=1.0, generator=None: into(
            x, self.inside.normal(mean, std, tuple(x.shape))
        )
        torch.Tensor.uniform_ = lambda x, low=0.0, high=1.0, generator=None: into(
            x, self.inside.uniform(low, high, tuple(x.shape))
        )
        # A script may have a layer and no optimizer.
        nn.Linear.reset_parameters = lambda layer: self.fill(
            [one for one in (layer.weight, layer.bias) if one is not None]
        )
        for one in (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout):
            one.forward = lambda module, x: x
        F.dropout = lambda x, p=0.5, training=True, inplace=False: x


def tensors(value):
    """Every tensor of numbers in what a model returned."""
    if torch.is_tensor(value):
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in tensors(part)] if isinstance(value, (list, tuple)) else []


def train(program, draws):
    """Train a model of a module for a few steps towards numbers that mean nothing, and return the losses."""
    numbers = np.random.default_rng(3)
    model, model_type = program.make(importlib.import_module(program.module)), torch.get_default_dtype()
    draws.fill([one for one in model.parameters() if one.requires_grad])
    for one in model.modules():
        # Attention keeps a number, and drops by itself.
        if isinstance(getattr(one, "dropout", None), float):
            one.dropout = 0.0
    inputs = [torch.from_numpy(one(numbers)) for one in program.inputs]
    inputs = [one.to(model_type) if one.is_floating_point() else one for one in inputs]
    optimizer = optim.SGD([one for one in model.parameters() if one.requires_grad], lr=program.rate)
    losses, targets = [], None
    for _ in range(STEPS):
        outputs = tensors(model(*inputs))
        if targets is None:
            targets = [numbers.normal(size=tuple(one.shape)).astype(draws.kind) for one in outputs]
        parts = [F.mse_loss(one, torch.from_numpy(to)) for one, to in zip(outputs, targets, strict=True)]
        # A model that returns its loss is trained by that.
        loss = outputs[0] if len(outputs) == 1 and outputs[0].dim() == 0 else sum(parts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def script(program, draws, folder):
    """Run a script as it stands, and return its losses: the first that it goes backwards from."""
    losses, backward, begin = [], torch.Tensor.backward, optim.Optimizer.__init__

    def noted(loss, *given, **settings):
        backward(loss, *given, **settings)
        losses.append(float(loss.detach().sum()))
        if len(losses) == STEPS:
            raise Enough

    def started(optimizer, parameters, *given, **settings):
        parameters = list(parameters)
        groups = [one["params"] if isinstance(one, dict) else [one] for one in parameters]
        draws.fill([one for group in groups for one in group if one.requires_grad])
        begin(optimizer, parameters, *given, **settings)

    torch.Tensor.backward, optim.Optimizer.__init__ = noted, started
    sys.argv = [program.script, *program.arguments]
    try:
        # What it prints is its own affair.
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(os.path.join(folder, program.script), run_name="__main__")
    except Enough:
        pass
    finally:
        torch.Tensor.backward, optim.Optimizer.__init__ = backward, begin
    return losses


def run(program, folder, nudge, double):
    """Run one program in its folder, with nothing left of the one before."""
    before, path, here = set(sys.modules), list(sys.path), os.getcwd()
    np.random.seed(0)
    random.seed(0)
    draws = Draws(nudge, double)
    draws.patch()
    signal.alarm(LONGEST)
    sys.path.insert(0, os.path.join(folder, program.folder))
    os.chdir(os.path.join(folder, program.folder))
    try:
        return {"losses": script(program, draws, folder) if program.script else train(program, draws)}
    # Whatever a program ends with is its result here.
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
    finally:
        signal.alarm(0)
        os.chdir(here)
        sys.path[:] = path
        for name in set(sys.modules) - before:
            # Of the program's own: the library's modules are patched, and stay.
            found = getattr(sys.modules[name], "__file__", None) or ""
            if found.startswith(folder):
                del sys.modules[name]


def slow(number, frame):
    """End a program that takes too long."""
    raise TimeoutError(f"it took longer than {LONGEST} seconds")


def main():
    """Run what is asked for."""
    # Tests run beside one another: threads would only get in each other's way.
    torch.set_num_threads(1)
    sources, out, *rest = sys.argv[1:]
    nudge, double = "--nudge" in rest, "--double" in rest
    names = [one for one in rest if not one.startswith("--")]
    torch.set_default_dtype(torch.float64 if double else torch.float32)
    signal.signal(signal.SIGALRM, slow)
    results = {}
    for program in PROGRAMS + OWN:
        folder = os.path.join(os.path.abspath(sources), program.repository.replace("/", "+"))
        if not program.repository:
            folder = OURS
        if (names and program.name not in names) or not os.path.isdir(folder):
            continue
        # A script says itself of which type its numbers are.
        if double and program.script:
            continue
        print(program.name, file=sys.stderr, flush=True)
        results[program.name] = run(program, folder, nudge, double)
    with open(out, "w") as stream:
        json.dump(results, stream)


if __name__ == "__main__":
    main()
