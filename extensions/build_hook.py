"""The hatchling build hook: compiles the kernels and bundles the front end, for wheels and editable installs.

It is thin on purpose; what it does is in `build_steps.py`, which `make` calls directly.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

import build_steps


class WorkbenchBuildHook(BuildHookInterface[Any]):
    """Adds what is built to the wheel: kernels if they compile, and always the front end."""

    def dependencies(self) -> list[str]:
        return build_steps.requirements(kernels=self.target_name == "wheel")

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_steps.build_frontend()
        if self.target_name != "wheel":
            return
        if version == "editable":
            # The package lies in the tree: kernels are put beside it, `make` links the lab extension.
            build_steps.install_kernels_in_tree()
            build_data["pure_python"] = not build_steps.kernels_in_tree()
        else:
            staging = build_steps.stage_kernels()
            for path in sorted(staging.rglob("*")):
                if path.is_file():
                    build_data["force_include"][str(path)] = path.relative_to(staging).as_posix()
            # A checkout has its data beside the package, an installed package within it.
            build_data["force_include"][str(Path(self.root) / "assets")] = "workbench/assets"
            build_data["pure_python"] = not any(staging.rglob("_kernels*"))
            build_data["shared_data"][str(build_steps.LABEXTENSION)] = build_steps.SHARED_LABEXTENSION
        build_data["infer_tag"] = not build_data["pure_python"]
