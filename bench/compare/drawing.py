"""The charts of a run."""

from __future__ import annotations

import sys
from pathlib import Path

import report
from prepare import ROOT

sys.path.insert(0, str(ROOT / "bench"))
from support import charts  # noqa: E402 (bench/ is no package)

UNIT_NS = 1000

# Whom the charts show, as many as can be told apart.
SHOWN = {
    "idle": (
        ("SpiceDB, gRPC", "Go"),
        ("SpiceDB, gRPC", "Python"),
        ("SpiceDB, HTTP", "Python"),
        ("licet, prefetch", "C"),
        ("licet", "Python"),
        ("licet", "C"),
        ("one SQL statement", "C"),
    ),
    "default": (
        ("SpiceDB, gRPC", "Go"),
        ("SpiceDB, embedded", "Python"),
        ("casbin, one role graph", "Python"),
        ("Cedar (cedarpy)", "Python"),
        ("licet", "Python"),
        ("licet", "C"),
        ("lua-casbin, one role graph", "LuaJIT"),
        ("licet", "LuaJIT"),
    ),
}


def draw(result: report.Result, path: Path) -> None:
    """Full consistency into `path`, the default one into a file beside it; varied requests of one caller."""
    beside = path.with_name(f"{path.stem}-default{path.suffix}")
    for phase, target in (("idle", path), ("default", beside)):
        here = report.pick(result["figures"], phase=phase, callers=1, form="varied", floor="")
        groups = {
            scenario: {
                f"{system} ({caller})": median / UNIT_NS
                for system, caller in SHOWN[phase]
                if (median := report.median_of(here, scenario=scenario, system=system, caller=caller)) is not None
            }
            for scenario in report.SCENARIOS
        }
        if any(groups.values()):
            charts.bars(target, f"{report.PHASES[phase]}: medians of one caller", groups, "microseconds", log=True)
