"""``python -m workbench.torch script.py`` runs a program for PyTorch on the workbench."""

from __future__ import annotations

from workbench.torch.command import main

if __name__ == "__main__":
    # Nothing follows: from here on this module is the program's.
    main()
