"""Cases in words that both PyTorch with Captum and the workbench have: each is run with either, and compared.

A function gets the library (``torch`` or ``workbench``) and its attribution (Captum's rooms, or ours) and returns
arrays by name.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(13)
IMAGES = RANDOM.normal(size=(3, 2, 6, 6))
KERNEL = RANDOM.normal(size=(4, 2, 3, 3)) / 3
WEIGHT = RANDOM.normal(size=(5, 64)) / 8
BIAS = RANDOM.normal(size=5)
VECTORS = RANDOM.normal(size=(4, 3))
SCALES = RANDOM.uniform(0.5, 2, size=(4, 3))
TARGET = [0, 4, 2]
NOISE = RANDOM.normal(size=(8, 2, 6, 6)) / 10


def network(lib: Any) -> Any:
    """Return a small network with convolutions, in float64."""
    model = lib.nn.Sequential(
        lib.nn.Conv2d(2, 4, 3), lib.nn.Tanh(), lib.nn.Flatten(), lib.nn.Linear(64, 5)
    ).double()
    values = {"0.weight": KERNEL, "0.bias": np.zeros(4), "3.weight": WEIGHT, "3.bias": BIAS}
    model.load_state_dict({name: lib.tensor(value) for name, value in values.items()})
    return model.eval()


def shifted(lib: Any, inputs: Any) -> Any:
    """Return inputs to which one of eight fixed noises was added, by the row."""
    rows = np.arange(inputs.shape[0]) % len(NOISE)
    return inputs + lib.tensor(NOISE[rows])


def infidelity(lib: Any, attribution: Any) -> dict[str, Any]:
    """Infidelity: plain, normalized, with baselines, of two inputs, in batches."""
    metrics, model, images = attribution.metrics, network(lib), lib.tensor(IMAGES)
    slopes = lib.tensor(np.random.default_rng(1).normal(size=IMAGES.shape))
    decorated = metrics.infidelity_perturb_func_decorator

    @decorated(False)
    def moved(inputs: Any) -> Any:
        return shifted(lib, inputs)

    @decorated(True)
    def divided(inputs: Any, baselines: Any) -> Any:
        return inputs * 0.75 + baselines * 0.25

    def both(inputs: Any) -> Any:
        steps = tuple(0.1 * one for one in inputs)
        return steps, tuple(one - step for one, step in zip(inputs, steps, strict=True))

    found = {
        "plain": metrics.infidelity(model, moved, images, slopes, target=TARGET, n_perturb_samples=8),
        "normalized": metrics.infidelity(
            model, moved, images, slopes, target=TARGET, n_perturb_samples=8, normalize=True
        ),
        "baselines": metrics.infidelity(
            model, divided, images, slopes, images * 0.5 - 1, target=TARGET, n_perturb_samples=4
        ),
        "two": metrics.infidelity(
            lambda a, b, scale: (a * b * scale).sum(1) ** 2,
            both,
            (lib.tensor(VECTORS), lib.tensor(VECTORS[::-1].copy())),
            (lib.tensor(VECTORS), lib.tensor(SCALES)),
            additional_forward_args=lib.tensor(SCALES),
            n_perturb_samples=5,
            max_examples_per_batch=8,
        ),
    }
    return {f"infidelity {name}": one.numpy() for name, one in found.items()}


def sensitivity(lib: Any, attribution: Any) -> dict[str, Any]:
    """Greatest sensitivity: of saliency and of Integrated Gradients, by three norms, in batches."""
    metrics, model, images = attribution.metrics, network(lib), lib.tensor(IMAGES)
    saliency = attribution.attr.Saliency(model).attribute
    integrated = attribution.attr.IntegratedGradients(model).attribute

    def moved(inputs: Any) -> Any:
        return tuple(shifted(lib, one) for one in (inputs if isinstance(inputs, tuple) else (inputs,)))

    found = {
        str(norm): metrics.sensitivity_max(
            saliency, images, moved, n_perturb_samples=8, norm_ord=norm, target=TARGET
        )
        for norm in ("fro", 1, float("inf"))
    }
    found["integrated"] = metrics.sensitivity_max(
        integrated,
        images,
        moved,
        n_perturb_samples=4,
        max_examples_per_batch=12,
        target=lib.tensor(TARGET),
        baselines=images * 0.5,
        n_steps=8,
    )
    return {f"sensitivity {name}": one.numpy() for name, one in found.items()}


def attacks(lib: Any, attribution: Any) -> dict[str, Any]:
    """One step and many: away from a class and towards it, with bounds, masks, losses, in both norms."""
    robust, images = attribution.robust, lib.tensor(IMAGES)
    scores = network(lib)
    model = lib.nn.Sequential(scores, lib.nn.Softmax(1)).eval()
    loss = lib.nn.CrossEntropyLoss(reduction="none")
    mask = lib.tensor((IMAGES[:1, :1] > 0).astype(np.float64))
    fgsm, pgd = robust.FGSM(model, lower_bound=-1.5, upper_bound=1.5), robust.PGD(scores, loss, -2.0, 2.0)
    labels = lib.tensor(TARGET)
    found = {
        "one step": fgsm.perturb(images, 0.1, TARGET),
        "one step to a class": fgsm.perturb(images, 0.1, 1, targeted=True, mask=mask),
        "one step of a loss": robust.FGSM(scores, loss).perturb(images, 0.2, labels),
        "steps": pgd.perturb(images, 0.3, 0.1, 5, labels),
        "steps in a ball": pgd.perturb(images, 1.0, 0.3, 5, labels, targeted=True, norm="L2"),
        "steps under a mask": robust.PGD(model).perturb(images, 0.2, 0.15, 3, TARGET, mask=mask),
    }
    return {f"attack: {name}": one.detach().numpy() for name, one in found.items()}


def searches(lib: Any, attribution: Any) -> dict[str, Any]:
    """The least setting that misleads, and what a metric says of attacks."""
    robust, images, model = attribution.robust, lib.tensor(IMAGES), network(lib)
    target = model(images).argmax(1)
    loss = lib.nn.CrossEntropyLoss(reduction="none")
    found: dict[str, Any] = {}
    for mode in ("linear", "binary"):
        search = robust.MinParamPerturbation(
            model, robust.FGSM(model, loss), "epsilon", 0.0, 4.0, 0.05, mode=mode
        )
        changed, least = search.evaluate(
            images, target=target, perturbations_per_eval=3, attack_kwargs={"target": target}
        )
        found[f"search {mode}"], found[f"least {mode}"] = changed.detach().numpy(), least
    comparator = robust.AttackComparator(model, lambda outputs, label: (outputs[:, label], outputs.max()))
    comparator.add_attack(robust.FGSM(model, loss), "step", 1, True, {"epsilon": 0.2, "target": target})
    calls: list[int] = []

    def dimmed(inputs: Any) -> Any:
        calls.append(1)
        return inputs * (0.9 / len(calls))

    comparator.add_attack(dimmed, "dimmed", num_attempts=3)
    results = comparator.evaluate(images, perturbations_per_eval=2, label=2)
    for name, kinds in {**results, "Original": {"mean": results["Original"]}, **comparator.summary()}.items():
        for kind, members in kinds.items():
            for place, one in enumerate(members):
                found[f"compared {name} {kind} {place}"] = one.detach().numpy()
    return found


def concepts(lib: Any, attribution: Any) -> dict[str, Any]:
    """Scores of concepts in two layers, with a classifier that is the same in both libraries."""
    rooms, model = attribution.concept, network(lib).float()

    class Means(rooms.Classifier):  # type: ignore[name-defined, misc]
        """The direction of a class is the mean of its examples, less that of all."""

        def __init__(self) -> None:
            pass

        def train_and_eval(self, dataloader: Any, **kwargs: Any) -> dict[str, Any]:
            pairs = [(x.detach().numpy(), y.numpy()) for x, y in dataloader]
            x, y = (np.concatenate(one) for one in zip(*pairs, strict=True))
            self.of = sorted({int(one) for one in y}, reverse=True)
            self.found = np.stack([x[y == one].mean(0) - x.mean(0) for one in self.of])
            return {"count": len(x)}

        def weights(self) -> Any:
            return lib.tensor(self.found)

        def classes(self) -> Any:
            return self.of

    def concept(number: int) -> Any:
        random = np.random.default_rng(number)
        batches = [random.normal(number, 1, size=(3, 2, 6, 6)).astype(np.float32) for _ in range(4)]
        return rooms.Concept(number, f"concept {number}", [lib.tensor(one) for one in batches])

    first, second, third = (concept(number) for number in range(3))
    with tempfile.TemporaryDirectory() as folder:
        tcav = rooms.TCAV(model, ["0", "3"], classifier=Means(), save_path=folder)
        sets = [[first, second], [second, first, third]]
        images = lib.tensor(IMAGES.astype(np.float32))
        scores = tcav.interpret(images, sets, target=lib.tensor(TARGET))
    return {
        f"concepts {ids} {layer} {name}": one.detach().numpy()
        for ids, layers in scores.items()
        for layer, found in layers.items()
        for name, one in found.items()
    }


class Examples:
    """Training examples."""

    def __init__(self, inputs: Any, labels: Any) -> None:
        self.inputs, self.labels = inputs, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> Any:
        return self.inputs[row], self.labels[row]


def influence(lib: Any, attribution: Any) -> dict[str, Any]:
    """TracIn of all parameters and of the last layer, and influence functions by the whole Hessian."""
    rooms = attribution.influence
    random = np.random.default_rng(2)
    model = lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.Tanh(), lib.nn.Linear(2, 3)).double().eval()
    weights = {"0.weight": (2, 3), "0.bias": (2,), "2.weight": (3, 2), "2.bias": (3,)}
    states = [{name: random.normal(size=shape) for name, shape in weights.items()} for _ in range(2)]

    def load(model: Any, checkpoint: str) -> float:
        state = states[int(checkpoint)]
        model.load_state_dict({name: lib.tensor(value) for name, value in state.items()})
        return 0.5 + int(checkpoint)

    data = Examples(lib.tensor(random.normal(size=(7, 3))), lib.tensor([0, 1, 2, 2, 1, 0, 1]))
    inputs = (lib.tensor(VECTORS), lib.tensor([2, 0, 1, 1]))
    none, total, mean = (lib.nn.CrossEntropyLoss(reduction=one) for one in ("none", "sum", "mean"))
    slow = rooms.TracInCP(model, data, ["0", "1"], load, loss_fn=none, batch_size=3)
    meant = rooms.TracInCP(model, data, ["0", "1"], load, ["2"], mean, 3, sample_wise_grads_per_batch=True)
    fast = rooms.TracInCPFast(model, "2", data, ["0", "1"], load, loss_fn=total, batch_size=3)
    naive = rooms.NaiveInfluenceFunction(
        model, data, "1", load, None, none, 3, projection_dim=6, hessian_inverse_tol=1e-2
    )
    found: dict[str, Any] = {}
    for name, one in (("slow", slow), ("meant", meant), ("fast", fast), ("naive", naive)):
        found[f"{name} all"] = one.influence(inputs)
        found[f"{name} own"] = one.self_influence()
        for proponents in (True, False):
            best = one.influence(inputs, k=2, proponents=proponents)
            found[f"{name} {proponents} which"], found[f"{name} {proponents} how much"] = best
    found["slow together"] = slow.influence(inputs, aggregate=True)
    found["slow quantities"] = slow.compute_intermediate_quantities(inputs)
    return {f"influence {name}": one.detach().numpy() for name, one in found.items()}


ALL = (infidelity, sensitivity, attacks, searches, concepts, influence)
