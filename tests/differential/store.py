"""stores.py of the folder above, for programs that are run by their paths."""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import stores  # noqa: E402

__all__ = ["stores"]
