"""``python -m tests.bench.compiled_memory NAME ours|theirs THREADS``: by how many bytes a network raises the peak.

Ours is the model, compiled, with its parameters; theirs is a session of onnxruntime on the file that we write of it.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.peaks import rise

__all__ = ["RESNET"]

RESNET = "ResNet-50 of 8 images, compiled"


def _images() -> Any:
    return np.random.default_rng(0).standard_normal((8, 3, 224, 224), dtype=np.float32)


def _ours(threads: int) -> int:
    wb = importlib.import_module("workbench")
    wb.set_num_threads(threads)
    wb.nn.functional.conv2d(wb.ones(1, 3, 8, 8), wb.ones(4, 3, 3, 3))
    x = wb.tensor(_images())

    def work() -> Any:
        compiled = wb.compile(wb.models.resnet50().eval())
        with wb.no_grad():
            for _ in range(3):
                compiled(x)
        return compiled

    return rise(work)


def _theirs(threads: int) -> int:
    onnxruntime = importlib.import_module("onnxruntime")
    x = _images()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "resnet.onnx"
        _write(file)

        def work() -> Any:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
            for _ in range(3):
                session.run(None, {session.get_inputs()[0].name: x})
            return session

        return rise(work)


def _write(file: Path) -> None:
    """Write the model, in a process of its own."""
    code = (
        "import sys, workbench as wb; "
        "wb.onnx.save(wb.models.resnet50().eval(), sys.argv[1], wb.zeros(8, 3, 224, 224))"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)


if __name__ == "__main__":
    print({"ours": _ours, "theirs": _theirs}[sys.argv[2]](int(sys.argv[3])))
