"""SVG charts of the benchmarks' figures, with matplotlib.

    charts.bars("out.svg", "Checks", {"direct": {"licet": 0.12, "SpiceDB": 480.0}}, "microseconds")
    charts.lines("out.svg", "Growth", "relationships", "nanoseconds", {"direct": [(10_000, 95.0), (100_000, 98.0)]})

The same figures make the same file, byte for byte.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402 (the kind of output comes first)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any kind of colour vision tell apart; and marks for who prints in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#B8A900")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, FAINT = "#222222", "#d8d8d8"
STYLE = {
    "svg.hashsalt": "licet",  # ids of elements that don't differ from run to run
    "svg.fonttype": "none",  # text stays text: searchable, and in the reader's own font
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 11,
    "axes.titlesize": 13,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


def number(value: float) -> str:
    """Three digits of it, without an exponent: 0.132, 4.71, 1,250,000."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{float(f'{value:.3g}'):,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _short(value: float) -> str:
    """For axes: 1k, 10M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{number(value / size)}{letter}"
    return number(value)


def _finish(figure: Figure, axes: Axes, title: str, path: str | os.PathLike[str]) -> None:
    axes.set_title(title, loc="left", fontweight="bold", pad=14)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_axisbelow(True)
    _, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        columns = max(1, min(len(labels), 90 // (max(map(len, labels)) + 6)))
        figure.legend(loc="outside lower center", ncols=columns)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "licet"})
    pyplot.close(figure)


def bars(
    path: str | os.PathLike[str], title: str, groups: Mapping[str, Mapping[str, float]], unit: str, log: bool = True
) -> None:
    """One group of bars a label, one bar a series, each with its figure beside it. What a group lacks, or is not above
    zero, has no bar."""
    series = list(dict.fromkeys(name for group in groups.values() for name in group))
    values = [group[name] for group in groups.values() for name in group if group[name] > 0]
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(
            layout="constrained", figsize=(9.5, 1.6 + 0.26 * (len(series) + 1) * len(groups))
        )
        if log:
            axes.set_xscale("log")
        for s, name in enumerate(series):
            shown = [(g, group[name]) for g, group in enumerate(groups.values()) if group.get(name, 0) > 0]
            drawn = axes.barh(
                [g + (s - (len(series) - 1) / 2) * 0.8 / len(series) for g, _ in shown],
                [value for _, value in shown],
                0.72 / len(series),
                color=COLOURS[s % len(COLOURS)],
                label=name,
            )
            axes.bar_label(drawn, [number(value) for _, value in shown], padding=3, fontsize=9)
        if values:
            low = 10 ** math.floor(math.log10(min(values)) - 0.1) if log else 0
            axes.set_xlim(low, max(values) * (2.5 if log else 1.12))
        axes.set_yticks(range(len(groups)), list(groups))
        axes.set_ylim(len(groups) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _short(value)))
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
        axes.grid(axis="x", color=FAINT)
        axes.set_xlabel(unit + (" (logarithmic)" if log else ""))
        _finish(figure, axes, title, path)


def lines(
    path: str | os.PathLike[str],
    title: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    log_x: bool = True,
    log_y: bool = True,
) -> None:
    """One line a series, through its points."""
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(layout="constrained", figsize=(9.5, 5.4))
        axes.set_xscale("log" if log_x else "linear")
        axes.set_yscale("log" if log_y else "linear")
        for s, (name, points) in enumerate(series.items()):
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=COLOURS[s % len(COLOURS)],
                marker=MARKS[s % len(MARKS)],
                label=name,
            )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _short(value)))
            axis.set_minor_formatter(ticker.NullFormatter())
        if not log_y:
            axes.set_ylim(bottom=0)
        elif axes.get_ylim()[1] < 300 * axes.get_ylim()[0]:  # too few powers of ten to read a value from
            axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.grid(color=FAINT)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        _finish(figure, axes, title, path)
