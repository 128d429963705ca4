"""Programs grow beside torch: without it there is nothing to collect here but tests that say so."""

from __future__ import annotations

from importlib import util

TORCH = ("__main__", "defined", "differentiation", "grow", "grower", "plans", "relations", "vocabulary")
collect_ignore = [] if util.find_spec("torch") else [f"{name}.py" for name in TORCH]
