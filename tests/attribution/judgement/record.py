"""Write what Captum finds in the cases: ``python -m tests.attribution.judgement.record``, with torch and captum."""

from __future__ import annotations

from types import SimpleNamespace

import captum.attr
import captum.concept
import captum.influence
import captum.metrics
import captum.robust
import numpy as np
import torch

from tests.attribution.judgement.cases import ALL
from tests.attribution.judgement.test_recorded import FILE

if __name__ == "__main__":
    captum_rooms = SimpleNamespace(
        attr=captum.attr,
        metrics=captum.metrics,
        robust=captum.robust,
        concept=captum.concept,
        influence=captum.influence,
    )
    np.savez_compressed(
        FILE, **{name: one for case in ALL for name, one in case(torch, captum_rooms).items()}
    )
