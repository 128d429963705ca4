"""Write what Captum finds in the cases: ``python -m tests.attribution.judgement.record``, with torch and captum."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np

from tests.attribution.judgement.cases import ALL
from tests.attribution.judgement.test_recorded import FILE

if __name__ == "__main__":
    # Not above: whoever collects tests looks into every file, and has neither.
    torch = importlib.import_module("torch")
    captum_rooms = SimpleNamespace(
        **{
            name: importlib.import_module(f"captum.{name}")
            for name in ("attr", "metrics", "robust", "concept", "influence")
        }
    )
    np.savez_compressed(
        FILE, **{name: one for case in ALL for name, one in case(torch, captum_rooms).items()}
    )
