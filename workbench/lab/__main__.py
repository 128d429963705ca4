"""``python -m workbench.lab`` is the command ``workbench``."""

from __future__ import annotations

import sys

from workbench.lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
