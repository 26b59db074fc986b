"""licet beside SpiceDB and what people would pick in process: the same requests, in one run, on one machine.

    python bench/compare [--quick] [--systems NAME,...] [--json FILE] [--svg FILE]

Fetches, builds and starts what it needs: an environment for Python (.venv-bench), a private Postgres (or that of PGHOST,
PGPORT, PGUSER, PGPASSWORD), and SpiceDB (LICET_SPICEDB_BIN, or on the PATH, or built with Go; or a running one,
LICET_SPICEDB_URL). docs/benchmarks.md says how it measures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import prepare
import report


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/compare", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="two minutes: shorter times, fewer combinations and requests"
    )
    parser.add_argument("--time", type=float, help="seconds that each measurement takes (BENCH_TIME, or 5)")
    parser.add_argument("--warmup", type=float, help="seconds before it that don't count (BENCH_WARMUP, or 2)")
    parser.add_argument("--systems", default="", help="only those whose name or language contains one of these words")
    parser.add_argument("--phases", default="", help="only some of " + ",".join(report.PHASES))
    parser.add_argument("--json", type=Path, help="where all figures go")
    parser.add_argument("--svg", type=Path, help="where the chart goes; that of the default consistency beside it")
    parser.add_argument(
        "--from", dest="source", type=Path, help="measure nothing: print the tables of such a JSON file"
    )
    return parser.parse_args()


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def measured(options: argparse.Namespace) -> report.Result:
    if options.source:
        return json.loads(options.source.read_text(encoding="utf-8"))
    prepare.build_programs()
    import comparison

    quick = options.quick
    settings = comparison.Settings(
        quick=quick,
        time_s=options.time or float(os.environ.get("BENCH_TIME") or (0.2 if quick else 5)),
        warmup_s=options.warmup or float(os.environ.get("BENCH_WARMUP") or (0.05 if quick else 2)),
        systems=words(options.systems),
        phases=words(options.phases) or list(report.PHASES),
    )
    return comparison.compare(settings)


def main() -> int:
    options = arguments()
    try:
        prepare.enter_environment()
        result = measured(options)
    except prepare.CannotPrepare as failure:
        print(f"bench/compare: {failure}", file=sys.stderr)
        return 1
    print(report.text_of(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.svg:
        from drawing import draw

        draw(result, options.svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
