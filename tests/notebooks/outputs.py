"""What a cell wrote, for tests that run notebooks with a browser and without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_warning(output: Mapping[str, Any]) -> bool:
    """Say whether it went to the error stream and is a warning; progress bars are none."""
    return (
        output["output_type"] == "stream"
        and output["name"] == "stderr"
        and "Warning" in "".join(output["text"])
    )
