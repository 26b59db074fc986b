"""Copies the examples into README.md, so that what it shows is what the tests run.

    make_readme.py            rewrites README.md
    make_readme.py --check    fails when it would change

Before each block that is copied stands a comment: <!-- file: examples/first.py -->
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- file: (?P<path>\S+) -->\n```(?P<language>\w*)\n.*?^```$", re.DOTALL | re.MULTILINE)


def filled(text: str) -> str:
    def block(match: re.Match[str]) -> str:
        content = (ROOT / match["path"]).read_text(encoding="utf-8")
        return f"<!-- file: {match['path']} -->\n```{match['language']}\n{content}```"

    return BLOCK.sub(block, text)


def main() -> int:
    readme = ROOT / "README.md"
    old = readme.read_text(encoding="utf-8")
    new = filled(old)
    if "--check" in sys.argv[1:]:
        return 0 if new == old else 1
    readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
