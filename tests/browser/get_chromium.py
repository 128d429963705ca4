"""Get a Chromium if there is none: ``python -m tests.browser.get_chromium``.

In this order: one that is there (`workbench.lab.browser.find_browser`), Playwright's download, and as root on
Debian ``apt-get install chromium``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from workbench.lab.browser import browser_version, find_browser

_PATIENCE = 300  # seconds for one download: a blocked mirror must not hold up a whole run


def _usable() -> Path | None:
    path = find_browser()
    return path if path is not None and browser_version(path) is not None else None


def _attempt(command: list[str], **environment: str) -> None:
    print(f"getting a browser: {' '.join(command)}", file=sys.stderr, flush=True)
    try:
        subprocess.run(command, env={**os.environ, **environment}, check=False, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"that did not work: {error}", file=sys.stderr, flush=True)


def main() -> int:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    apt = root and shutil.which("apt-get") is not None
    if _usable() is None:
        libraries = ["--with-deps"] if apt else []
        _attempt(
            [sys.executable, "-m", "playwright", "install", *libraries, "chromium"],
            PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT="20000",
        )
    if _usable() is None and apt:
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        _attempt(["apt-get", "update", "-qq"], **quiet)
        _attempt(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], **quiet)
    path = _usable()
    if path is None:
        print("no Chromium could be got: install one, or name it in WORKBENCH_BROWSER", file=sys.stderr)
        return 1
    print(f"browser: {browser_version(path)} at {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
