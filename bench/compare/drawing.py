"""The charts of a run."""

from __future__ import annotations

import sys
from pathlib import Path

import report
from prepare import ROOT

sys.path.insert(0, str(ROOT / "bench"))
from support import charts  # noqa: E402 (bench/ is no package)

UNIT_NS = 1000


def draw(result: report.Result, path: Path) -> None:
    """Full consistency into `path`, the default one into a file beside it; varied requests of one caller."""
    beside = path.with_name(f"{path.stem}-default{path.suffix}")
    for phase, target in (("idle", path), ("default", beside)):
        here = report.pick(result["figures"], phase=phase, callers=1, form="varied", floor="")
        groups = {
            scenario: {
                f"{figure['system']} ({figure['caller']})": figure["median_ns"] / UNIT_NS
                for figure in report.pick(here, scenario=scenario)
            }
            for scenario in report.SCENARIOS
        }
        groups = {scenario: series for scenario, series in groups.items() if series}
        if groups:
            charts.bars(target, f"{report.PHASES[phase]}: medians of one caller", groups, "microseconds", log=True)
