"""Programs grow beside torch: without it there is nothing to collect here but tests that say so."""

from __future__ import annotations

from importlib import util

collect_ignore = [] if util.find_spec("torch") else ["__main__.py", "grow.py"]
