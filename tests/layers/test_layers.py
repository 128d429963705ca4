"""Imports flow one way, through the rooms in this order; every exception is declared here with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.layers.imports import PACKAGE, Import, cycle, imports_of, imports_of_package, room_of

ORDER = [
    {"base"},
    {"kernels"},
    {"core"},
    {"ops"},
    {"tensor", "linalg", "fft", "special", "sparse", "names", "return_types"},
    {"autograd", "graph", "func"},
    {"nn", "optim", "data"},
    {"amp", "models", "distributions", "fx"},
    {"quantization"},
    {"attribution", "embedding", "interop", "random", "version"},
    {"jit", "onnx"},
    {"tensorboard"},
    {"train"},
    {"live"},
    {"widgets"},
    {"lab"},
    {
        "accelerator",
        "ao",
        "backends",
        "compiler",
        "cpu",
        "cuda",
        "distributed",
        "hub",
        "mps",
        "multiprocessing",
        "overrides",
        "profiler",
        "types",
        "utils",
        "_utils",
        "xpu",
    },
    {"torch"},
]
"""From the bottom up. A room imports from its own step or below; rooms of one step must not form a cycle."""

BESIDE = {
    "_start": {"base"},
    "testing": {"base", "kernels", "core", "ops", "tensor", "autograd", "graph", "nn", "data"},
}
"""Rooms outside the order, which no room imports, and what they may import themselves."""

DECLARED: dict[str, dict[str, str]] = {
    "workbench": {
        "?": "rooms above the models are imported when they are first named: a script starts fast",
        "importlib.metadata": "the version is asked for rarely, and reading metadata is slow",
    },
    "workbench.base.lazy": {
        "?": "the one door to libraries that are imported when they are first used",
        "importlib.metadata": "asked where packages from outside are looked for, which most programs never do",
        "scipy.special": "slow to import, for functions that most programs never call",
        "scipy.linalg": "as above",
        "scipy.linalg.blas": "as above",
        "scipy.fft": "as above",
        "scipy.sparse": "as above",
        "scipy.sparse.linalg": "as above",
    },
    "workbench.interop.xla.libraries": dict.fromkeys(
        ("jax", "jax.numpy", "jax.lax", "jax.scipy.linalg", "jax.scipy.special"),
        "JAX is an extra, slow to import, and starts threads",
    ),
    "workbench.base.shared_memory": {
        "multiprocessing.reduction": "few tensors are given to other processes",
        "tempfile": "only where a system has no memory without a name",
    },
    "workbench.tensor.sharing": {"multiprocessing.reduction": "as above"},
    "workbench.base.files": {"fcntl": "only where the system is POSIX"},
    "workbench.base.renderer_lookup": {
        "?": "the one door through which a value finds the renderer above it, at the moment it is shown",
        "IPython.display": "only a notebook's kernel has it loaded, and only there an error is drawn",
    },
    "workbench.cuda.devices": {
        "cupy": "as in workbench.interop.cupy, and many programs ask whether there is a GPU"
    },
    "workbench.data.images": {"PIL.Image": "slow to import, and needed where pictures are read"},
    "workbench.data.progress": {"tqdm.std": "slow to import, and needed where a bar is shown"},
    "workbench.data.loader": {
        "multiprocessing": "most loaders have no workers, and it takes as long as a room"
    },
    "workbench.data.pool": {"multiprocessing": "as above"},
    "workbench.data.worker": {"multiprocessing": "as above", "multiprocessing.connection": "as above"},
    "workbench.data.random_streams": {"numpy.random": "slow to import, and most programs never draw from it"},
    "workbench.attribution.perturbation.masks": {
        "skimage.segmentation": "not needed by the package, slow to import, used when superpixels are asked for"
    },
    "workbench.embedding.hdbscan": dict.fromkeys(
        (
            "sklearn",
            "sklearn.cluster",
            "sklearn.cluster._hdbscan._linkage",
            "sklearn.cluster._hdbscan._tree",
            "sklearn.metrics",
            "sklearn.neighbors",
        ),
        "an extra, slow to import, used when clusters are asked for",
    ),
    "workbench.embedding.tsne": {
        "openTSNE": "an extra, slow to import, used when its projection is asked for"
    },
    "workbench.embedding.umap": dict.fromkeys(
        ("umap", "umap.umap_", "umap.layouts", "umap.spectral"), "as above, and it compiles what it computes"
    ),
    "workbench.interop.cupy": {"cupy": "installed by few, and not needed until the device cuda is asked for"},
    "workbench.interop.einops": {
        "einops._backends": "not needed by the package: reached when the program has imported it"
    },
    "workbench.interop.einx": {
        "einx._src": "as above",
        "einx._src.frontend.backend": "as above",
    },
    "workbench.interop.pandas": {"pandas": "not needed by the package, slow to import, used when asked for"},
    "workbench.interop.torch_tensors": {
        "torch": "not needed by the package, slow to import, used when asked for"
    },
    "workbench.interop.xarray": {"xarray": "not needed by the package, slow to import, used when asked for"},
    "workbench.train.callbacks.tensorboard": {
        "workbench.tensorboard": "slow to import, and not needed until a training is logged"
    },
    "workbench.quantization.layerwise.drawing": {
        "matplotlib.figure": "slow to import, and not needed until a figure is asked for"
    },
    "workbench.train.drawing": {
        "matplotlib.figure": "slow to import, and not needed until a figure is asked for"
    },
    "workbench.kernels.kept_choices": {
        "hashlib": "slow to import, and not needed until a large product is computed",
        "json": "as above",
    },
    "workbench.kernels.loader": {"?": "the compiled module exists only where it could be built"},
}
"""Modules that may import within a function: the target (``?`` for a name made at run time), and why."""

WHOLE = {
    "workbench.torch.finder": "what a program for PyTorch gets for ``torch`` is the package; no room imports it",
    "workbench.lab.stubs": "a program that writes down what the whole package offers; nothing imports it",
}
"""Modules that may import the package itself, which gathers every room, and why."""

NAMED_ABOVE = {
    (
        "workbench.core.typing",
        "workbench.tensor.tensor",
    ): "the class that functions below it take and return, for type "
    "checkers: nothing is imported while Python runs"
}
"""The imports that only a type checker sees and that may go upward, and why."""

LEVEL = {room: step for step, rooms in enumerate(ORDER) for room in rooms}


@pytest.fixture(scope="module")
def imports(root: Path) -> list[Import]:
    return imports_of_package(root / PACKAGE)


def _only_named(one: Import) -> bool:
    return one.checked and (one.module, one.target) in NAMED_ABOVE


def upward(found: list[Import]) -> list[str]:
    """Imports of a room further up, and of rooms beside the order; the package itself may import all."""
    wrong = []
    for one in found:
        if not one.target.startswith(PACKAGE) or one.room in ("", one.target_room):
            continue
        if _only_named(one):
            continue
        if one.room in BESIDE:
            allowed = one.target_room in BESIDE[one.room]
        else:
            # The package's own __init__ gathers every room, so importing it is importing upward.
            allowed = one.target_room in LEVEL and LEVEL[one.target_room] <= LEVEL[one.room]
            allowed = allowed or (one.room == "kernels" and one.target_room == "_kernels")
            allowed = allowed or (one.target == PACKAGE and one.module in WHOLE)
        if not allowed:
            wrong.append(str(one))
    return wrong


def hidden(found: list[Import]) -> list[str]:
    """Imports within functions that are not declared above."""
    return [
        str(one)
        for one in found
        if one.function is not None and one.target not in DECLARED.get(one.module, {})
    ]


def test_every_room_has_its_place(root: Path) -> None:
    rooms = {path.parent.name for path in (root / PACKAGE).glob("*/__init__.py")}
    assert rooms <= LEVEL.keys() | BESIDE.keys(), "declare the room's place in tests/layers/test_layers.py"


def test_no_room_imports_upward(imports: list[Import]) -> None:
    assert upward(imports) == []


def test_no_import_is_hidden_in_a_function(imports: list[Import]) -> None:
    assert hidden(imports) == []


def test_rooms_form_no_cycle(imports: list[Import]) -> None:
    edges: dict[str, set[str]] = {}
    for one in imports:
        if one.room and one.target_room and one.room != one.target_room and not _only_named(one):
            edges.setdefault(one.room, set()).add(one.target_room)
    assert cycle(edges) is None


def test_declared_exceptions_are_still_needed(imports: list[Import]) -> None:
    used = {(one.module, one.target) for one in imports if one.function is not None}
    declared = {(module, target) for module, targets in DECLARED.items() for target in targets}
    assert declared - used == set(), "an exception that nothing uses any more must go"
    assert {one.module for one in imports if one.target == PACKAGE} >= WHOLE.keys()
    assert {(one.module, one.target) for one in imports if _only_named(one)} == NAMED_ABOVE.keys()


def test_what_may_import_the_whole_package_is_imported_by_nobody(imports: list[Import]) -> None:
    # The room above all others is no part of what is gathered: its own files may import each other.
    assert not [str(one) for one in imports if one.target in WHOLE and one.room != "torch"]
    assert not [str(one) for one in imports if one.target_room == "torch" and one.room != "torch"]


# The walker must see what it is there to see.


def found_in(source: str, module: str = "workbench.core.op") -> list[Import]:
    return list(imports_of(source, module))


@pytest.mark.parametrize(
    "source",
    [
        "import workbench.tensor",
        "from workbench.tensor import Tensor",
        "from workbench import tensor",
        "from ..tensor import Tensor",
        "if TYPE_CHECKING:\n    from workbench.tensor import Tensor",
        "import workbench as wb",
        "from workbench.testing import check_op",
        "importlib.import_module('workbench.tensor')",
        "tensor = Lazy('workbench.tensor')",
        "sys.modules['workbench.tensor']",
        "sys.modules.get('workbench')",
    ],
)
def test_an_upward_import_is_seen(source: str) -> None:
    assert len(upward(found_in(source))) == 1


def test_what_only_a_type_checker_sees_is_told_from_the_rest() -> None:
    source = "if TYPE_CHECKING:\n    from workbench.tensor.tensor import Tensor\nelse:\n    Tensor = object"
    (named,) = found_in(source, "workbench.core.typing")
    assert upward([named]) == []
    (loaded,) = found_in("from workbench.tensor.tensor import Tensor", "workbench.core.typing")
    assert upward([loaded]) != []
    (otherwise,) = found_in(
        "if TYPE_CHECKING:\n    pass\nelse:\n    import workbench.tensor.tensor", "workbench.core.typing"
    )
    assert upward([otherwise]) != []


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from workbench.base import dims",
        "from .apply import apply",
        "from workbench.core.op import Op",
        "from workbench.core import op",
        "torch = sys.modules.get('torch')",
    ],
)
def test_a_legal_import_passes(source: str) -> None:
    assert upward(found_in(source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    import os",
        "async def f():\n    from os import path",
        "class A:\n    def f(self):\n        import torch",
        "f = lambda: __import__('os')",
        "def f():\n    return importlib.import_module(name)",
        "def f():\n    with x:\n        import os",
        "os = Lazy('os')",
        "def f():\n    return sys.modules['workbench.base']",
    ],
)
def test_a_hidden_import_is_seen(source: str) -> None:
    assert len(hidden(found_in(source))) == 1


def test_an_import_at_the_top_is_not_hidden() -> None:
    assert hidden(found_in("try:\n    import torch\nexcept ImportError:\n    torch = None")) == []


def test_a_cycle_is_found_and_named() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None


def test_names_of_rooms() -> None:
    assert room_of("workbench.core.op") == "core"
    assert room_of("workbench") == ""
    assert room_of("numpy.linalg") == ""
