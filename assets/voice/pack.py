"""Takes the network out of the wheel of ``silero-vad``: run once, kept so that anybody can repeat it.

    pip download --no-deps silero-vad==6.2.3
    python assets/voice/pack.py silero_vad-6.2.3-py3-none-any.whl

Nothing of it is changed: what is compared is the digest of the whole file.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

NAME = "silero_vad/data/silero_vad.onnx"
DIGEST = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"

if __name__ == "__main__":
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        content = wheel.read(NAME)
    if hashlib.sha256(content).hexdigest() != DIGEST:
        raise SystemExit(
            f"{NAME} in {sys.argv[1]} is another file: version 6.2.3 of the package has the right one"
        )
    (Path(__file__).parent / "silero_vad.onnx").write_bytes(content)
