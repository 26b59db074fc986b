"""How cost grows: with the number of relationships, with depth, with fan-out, with the number of answers.

    python bench/scale [--quick] [--largest 10000000] [--json FILE] [--charts FOLDER] [--parts PART ...]
                        [--from FILE]

Builds build/release/bench/scale if need be, makes the data, runs the one on the other, and prints tables with the growth
as exponents: the slope of a line through the logarithms of size and time, by least squares. An exponent of 0 is a cost
that does not grow, 1 one that grows with the size. Every answer is compared with the expected one before it is timed.

Sizes are worlds of bench/data/generate.py beside each other, of which documents are left out until the size is the one
wanted. Requests are drawn from all the data ("spread") or are a hundred, asked again and again ("hot"). What is hot is in
a cache at every size, so its growth is that of the work; what is spread is in none where the data is large, which costs
what reaching that memory costs on this machine. The floors beside it say what that is: a random probe of a hash table of as
many keys, and a random load of as many bytes as the engine holds, each waiting for the one before.

Times are medians of batches, of several rounds that of the quietest; 99th percentiles are of single calls. BENCH_TIME and
BENCH_WARMUP: seconds for each measurement (1 and 0.3). BENCH_REALTIME=1: what is timed on one thread goes before
everything else on its processor, where that is allowed (root). --largest 10000000 takes some 6 GB.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build" / "release" / "bench" / "scale"
SMALLEST, DATABASE_SIZE = 10_000, 1_000_000
QUICK_LARGEST, QUICK_DATABASE_SIZE, QUICK_SHAPE_SIZE, SHAPE_SIZE = 100_000, 25_000, 100_000, 1_000_000
STRIDE = 7919  # prime to the number of documents: what is left out is spread over the tree
PARTS = ("sizes", "database", "depth", "fan-out", "answers")
BOUND = 0.1  # of an exponent that shall be none
BYTES_BOUND = 64

Row = dict[str, Any]


def load(path: Path) -> ModuleType:
    """A module of a folder that is no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = load(ROOT / "bench" / "data" / "generate.py")


# ------------------------------------------------------------------------------------ data


def order() -> list[int]:
    """The documents of a world: those of the lookup first, which every size has."""
    spread = [i * STRIDE % generate.DOCUMENTS for i in range(generate.DOCUMENTS)]
    return sorted(spread, key=lambda d: not generate.may_view(generate.READER, d))


def relationships_of(document: int) -> int:
    return 3 if document % 5 == 0 else 2  # parent, owner, and of every fifth a viewer


def kept_documents(wanted: int) -> set[int]:
    """So many of a world's that it has the wanted number of relationships, or one less or more."""
    kept: set[int] = set()
    count = generate.RELATIONSHIPS - sum(map(relationships_of, range(generate.DOCUMENTS)))
    for document in order():
        if count >= wanted:
            break
        kept.add(document)
        count += relationships_of(document)
    return kept


def document_of(text: str, prefix: str = "") -> int | None:
    """The number of the document that a relationship or a question is about."""
    start = f"document:{prefix}d"
    if not text.startswith(start):
        return None
    return int(text[len(start) :].split("#")[0].split(" ")[0])


def lines_of(world: int, kept: set[int]) -> Iterator[str]:
    prefix = f"w{world}-" if world else ""
    for line in generate.relationships(prefix):
        document = document_of(line, prefix)
        if document is None or document in kept:
            yield line


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="ascii") as out:
        out.writelines(f"{line}\n" for line in lines)


def make_data(folder: Path, size: int) -> int:
    """Writes what the program reads. Returns how many worlds there are."""
    worlds: int = math.ceil(size / generate.RELATIONSHIPS)
    kept = kept_documents(size // worlds)
    (folder / "schema.zed").write_text(generate.SCHEMA, encoding="ascii")
    write_lines(folder / "relationships.txt", (line for world in range(worlds) for line in lines_of(world, kept)))
    for name, questions in (
        ("direct", generate.direct()),
        ("nested", generate.nested()),
        ("denied", generate.denied()),
    ):
        write_lines(folder / f"{name}.txt", (line for line in questions if document_of(line) in kept))
    return worlds


# --------------------------------------------------------------------------------- running


def say(text: str) -> None:
    print(f"==> {text}", file=sys.stderr, flush=True)


def build() -> None:
    say("building build/release/bench/scale")
    for command in (
        ["cmake", "--preset", "release"],
        ["cmake", "--build", "--preset", "release", "--target", "bench_scale"],
    ):
        if subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit("the release preset can't be built: " + " ".join(command))


def run(program: Path, arguments: Sequence[str], around: Sequence[str] = ()) -> list[Row]:
    """The lines that the program prints, each told as it comes."""
    rows: list[Row] = []
    with subprocess.Popen([*around, str(program), *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            rows.append(json.loads(line))
            told = ", ".join(f"{key} {value}" for key, value in rows[-1].items() if key != "part")
            print(f"    {rows[-1]['part']}: {told}", file=sys.stderr, flush=True)
    if process.returncode != 0:
        sys.exit(f"bench/scale {arguments[0]} failed")
    return rows


def run_size(program: Path, part: str, size: int, around: Sequence[str] = ()) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="licet-scale-") as name:
        say(f"{size:,} relationships: making them")
        worlds = make_data(Path(name), size)
        say(f"{size:,} relationships: {'in Postgres' if part == 'database' else 'in memory'}")
        return [{"size": size, **row} for row in run(program, [part, name, str(worlds)], around)]


# --------------------------------------------------------------------------------- figures


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the line through the logarithms, by least squares. Not a number for less than two points."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len(logs) < 2:
        return math.nan
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def of(rows: Iterable[Row], part: str, **wanted: object) -> list[Row]:
    return [row for row in rows if row["part"] == part and all(row[key] == value for key, value in wanted.items())]


def time_text(nanoseconds: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= size:
            return (
                f"{nanoseconds / size:.3g} {unit}" if nanoseconds < 999.5 * size else f"{nanoseconds / size:.0f} {unit}"
            )
    return f"{nanoseconds:.3g} ns" if nanoseconds < 99.5 else f"{nanoseconds:.0f} ns"


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    print(f"\n{title}")
    for row in (head, ["-" * width for width in widths], *rows):
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print("  " + "  ".join(cells).rstrip())
    sys.stdout.flush()


class Report:
    """Tables, exponents with their bounds, and the charts' series, from what the program printed."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.exponents: list[Row] = []
        self.charts: dict[str, tuple[str, str, str, dict[str, list[tuple[float, float]]]]] = {}

    def exponent(self, what: str, points: Sequence[tuple[float, float]], bound: str = "") -> str:
        """bound: "none", of what shall not grow, or "one", of what shall grow with the size; or it just is what it is."""
        value = slope(points)
        if math.isnan(value):
            return "-"
        row: Row = {"what": what, "exponent": round(value, 3)}
        if bound:
            low, high = (-math.inf, BOUND) if bound == "none" else (0.85, 1.1)
            row |= {"bound": f"< {BOUND}" if bound == "none" else "about 1", "holds": low <= value < high}
        self.exponents.append(row)
        return f"{value:+.3f}" + ("" if row.get("holds", True) else " MISSED")

    # ---------------------------------------------------------------- sizes

    def sizes(self) -> None:
        rows = [row for row in self.rows if row.get("in") == "sizes"]
        if not rows:
            return
        sizes = sorted({row["size"] for row in rows})
        self.loads(rows, sizes)
        self.requests(rows, sizes)
        self.threads(rows, sizes)
        self.writes(rows, sizes)

    def loads(self, rows: list[Row], sizes: list[int]) -> None:
        lines = []
        for size in sizes:
            for row in of(rows, "load", size=size):
                count = row["relationships"]
                lines.append([f"{size:,}", row["how"], f"{row['seconds']:.3f}", f"{count / row['seconds']:,.0f}",
                              f"{row['graph_bytes'] / count:.1f}", f"{row['id_bytes'] / count:.1f}",
                              f"{row['memory_bytes'] / 2**20:,.1f}"])  # fmt: skip
        table(f"Loads (memory beside the id strings: at most {BYTES_BOUND} bytes a relationship at 1,000,000 and more)",
              ["relationships", "how", "seconds", "a second", "bytes each", "of ids", "MiB in all"], lines)  # fmt: skip
        for how in ("import", "writes"):
            points = [(row["relationships"], row["seconds"]) for row in of(rows, "load", how=how)]
            self.exponent(f"load by {how}", points)

    def requests(self, rows: list[Row], sizes: list[int]) -> None:
        floors = {row["size"]: row for row in of(rows, "floors")}
        head = ["request", *(f"{size:,}" for size in sizes), "exponent", "beside probes", "beside loads"]
        lines = []
        for floor in ("probe_ns", "touch_ns"):
            points = [(float(size), float(floors[size][floor])) for size in sizes]
            name = "a probe of as many keys" if floor == "probe_ns" else "a load from as many bytes"
            lines.append([name, *(time_text(y) for _, y in points), self.exponent(name, points), "", ""])
        series: dict[str, list[tuple[float, float]]] = {}
        tails = []
        for kind in ("direct", "nested", "denied", "lookup"):
            for drawn in ("hot", "spread"):
                found = {row["size"]: row for row in of(rows, "request", kind=kind, drawn=drawn)}
                points = [(float(size), float(found[size]["median_ns"])) for size in sizes]
                name = f"{'lookup of 109' if kind == 'lookup' else kind}, {drawn}"
                bound = "none" if drawn == "hot" else ""
                beside = [self.exponent(f"{name}, beside {floor}", [(x, y / floors[int(x)][key]) for x, y in points], "none")
                          for floor, key in (("probes", "probe_ns"), ("loads", "touch_ns"))] if drawn == "spread" else ["", ""]  # fmt: skip
                lines.append([name, *(time_text(y) for _, y in points), self.exponent(name, points, bound), *beside])
                tails.append([name, *(time_text(found[size]["p99_ns"]) for size in sizes)])
                series[name] = points
        table("Requests as the data grow: medians", head, lines)
        table("99th percentiles", head[: len(sizes) + 1], tails)
        series["floor: a probe"] = [(size, floors[size]["probe_ns"]) for size in sizes]
        for chosen in ("hot", "spread"):
            self.charts[f"scale-requests-{chosen}.svg"] = (
                f"Requests as the data grow, {chosen}", "relationships", "nanoseconds, median",
                {name: points for name, points in series.items() if name.endswith(chosen) or "floor" in name})  # fmt: skip

    def threads(self, rows: list[Row], sizes: list[int]) -> None:
        lines = [[f"{row['size']:,}", row["kind"], f"{row['one_per_second']:,.0f}", f"{row['two_per_second']:,.0f}",
                  f"{row['two_per_second'] / row['one_per_second']:.2f}"] for size in sizes
                 for row in of(rows, "threads", size=size)]  # fmt: skip
        table("Checks a second, spread, by one and by two threads (at least 1.8 times)",
              ["relationships", "check", "one", "two", "times"], lines)  # fmt: skip

    def writes(self, rows: list[Row], sizes: list[int]) -> None:
        lines = []
        for size in sizes:
            merges = of(rows, "merges", size=size)[0]["count"]
            for row in of(rows, "writes", size=size):
                lines.append([f"{size:,}", row["who"], row["when"], f"{row['count']:,}", time_text(row["median_ns"]),
                              time_text(row["p99_ns"]), time_text(row["longest_ns"]), time_text(row["longest_working_ns"]),
                              str(merges) if row["when"] == "together" else ""])  # fmt: skip
        table("Single writes while another thread reads (nested checks), until merges came and went; \"held up\": the longest\n"
              "in which the thread was not merely made to leave its processor by another one",
              ["relationships", "who", "when", "calls", "median", "p99", "longest", "held up", "merges"], lines)  # fmt: skip
        points = [(row["size"], row["median_ns"]) for row in of(rows, "writes", who="writer", when="together")]
        self.exponent("a write while another thread reads", points, "none")

    # ---------------------------------------------------------------- the others

    def database(self) -> None:
        rows = [row for row in self.rows if row.get("in") == "database"]
        if not rows:
            return
        size = rows[0]["size"]
        lines = []
        for row in of(rows, "load"):
            each = f"{row['graph_bytes'] / row['relationships']:.1f}" if "graph_bytes" in row else ""
            rate = f"{row['relationships'] / row['seconds']:,.0f}"
            lines.append([f"{row['how']}", f"{row['seconds']:.2f}", rate, each])
        table(f"Postgres, {size:,} relationships: loads", ["how", "seconds", "a second", "bytes each"], lines)
        trip = of(rows, "floors")[0]["round_trip_ns"]
        lines = [["a round trip", "", time_text(trip), "", ""]]
        for row in of(rows, "request"):
            full = row["full"]
            lines.append([f"{row['kind']}, {row['drawn']}", "full" if full else "default", time_text(row["median_ns"]),
                          time_text(row["p99_ns"]), f"{row['median_ns'] / trip:.2f}" if full else ""])  # fmt: skip
        table(
            f"Postgres, {size:,} relationships: requests",
            ["request", "consistency", "median", "p99", "round trips"],
            lines,
        )
        lines = [[row["who"], row["when"], f"{row['count']:,}", time_text(row["median_ns"]), time_text(row["p99_ns"]),
                  time_text(row["longest_ns"]), time_text(row["longest_working_ns"])] for row in of(rows, "writes")]  # fmt: skip
        table(f"Postgres, {size:,} relationships: single writes while another thread reads",
              ["who", "when", "calls", "median", "p99", "longest", "held up"], lines)  # fmt: skip

    def depth(self) -> None:
        rows = of(self.rows, "depth")
        if not rows:
            return
        depths = sorted({row["depth"] for row in rows})
        series: dict[str, list[tuple[float, float]]] = {}
        lines = []
        for kind in ("groups", "folders"):
            for allowed in (True, False):
                points = [(row["depth"], row["median_ns"]) for row in of(rows, "depth", kind=kind, allowed=allowed)]
                name = f"{kind}, {'allowed' if allowed else 'denied'}"
                series[name] = points
                each = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
                lines.append([name, *(time_text(y) for _, y in points), f"{each:.0f} ns",
                              self.exponent(f"depth of {name}, from 5", [point for point in points if point[0] >= 5])])  # fmt: skip
        table("Depth: checks through so many groups or folders",
              ["check", *map(str, depths), "a level", "exponent, from 5"], lines)  # fmt: skip
        self.charts["scale-depth.svg"] = (
            "Checks as they go deeper",
            "groups or folders on the way",
            "nanoseconds, median",
            series,
        )

    def fan_out(self) -> None:
        rows = of(self.rows, "fan-out")
        if not rows:
            return
        widths = sorted({row["width"] for row in rows})
        lines = []
        series: dict[str, list[tuple[float, float]]] = {}
        for kind in dict.fromkeys(row["kind"] for row in rows):
            for allowed in (True, False):
                for drawn in ("hot", "spread"):
                    found = of(rows, "fan-out", kind=kind, allowed=allowed)
                    points = [(row["width"], row[f"{drawn}_ns"]) for row in found]
                    name = f"{kind}, {'allowed' if allowed else 'denied'}, {drawn}"
                    bound = "none" if kind == "members of a group" else ""
                    lines.append(
                        [name, *(time_text(y) for _, y in points), self.exponent(f"fan-out: {name}", points, bound)]
                    )
                    if drawn == "hot":
                        series[name.removesuffix(", hot")] = points
        table(
            "Fan-out: so many, of as many relationships in all",
            ["check", *(f"{width:,}" for width in widths), "exponent"],
            lines,
        )
        self.charts["scale-fan-out.svg"] = (
            "Checks as the fan-out grows",
            "fan-out",
            "nanoseconds, median, hot",
            series,
        )

    def answers(self) -> None:
        rows = of(self.rows, "answers")
        if not rows:
            return
        counts = sorted({row["answers"] for row in rows})
        lines = []
        series: dict[str, list[tuple[float, float]]] = {}
        for kind in dict.fromkeys(row["kind"] for row in rows):
            points = [(row["answers"], row["median_ns"]) for row in of(rows, "answers", kind=kind)]
            large = [point for point in points if point[0] >= 100]
            lines.append([kind, *(time_text(y) for _, y in points), time_text(points[-1][1] / points[-1][0]),
                          self.exponent(f"answers of a lookup: {kind}, from 100", large, "one")])  # fmt: skip
            series[kind] = points
        table("Lookups as the answers grow, of as many relationships in all",
              ["lookup", *(f"{count:,}" for count in counts), "an answer", "exponent, from 100"], lines)  # fmt: skip
        self.charts["scale-answers.svg"] = ("Lookups as the answers grow", "answers", "nanoseconds, median", series)

    def print_all(self) -> None:
        self.sizes()
        self.database()
        self.depth()
        self.fan_out()
        self.answers()
        lines = [[row["what"], f"{row['exponent']:+.3f}", row["bound"], "ok" if row["holds"] else "MISSED"]
                 for row in self.exponents if "bound" in row]  # fmt: skip
        if lines:
            table("Exponents with bounds", ["what", "exponent", "bound", ""], lines)


def draw(report: Report, folder: Path) -> None:
    sys.path.insert(0, str(ROOT / "bench" / "support"))
    import charts  # type: ignore[import-not-found, unused-ignore]

    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, x, y, series) in report.charts.items():
        charts.lines(folder / name, title, x, y, series)


# ------------------------------------------------------------------------------------ main


def sizes_up_to(largest: int) -> list[int]:
    sizes = [SMALLEST]
    while sizes[-1] * 10 <= largest:
        sizes.append(sizes[-1] * 10)
    return sizes


def measure(arguments: argparse.Namespace) -> Iterator[Row]:
    quick = arguments.quick
    shape = str(QUICK_SHAPE_SIZE if quick else SHAPE_SIZE)
    if "sizes" in arguments.parts:
        for size in sizes_up_to(arguments.largest or (QUICK_LARGEST if quick else 10_000_000)):
            yield from ({"in": "sizes", **row} for row in run_size(arguments.program, "size", size))
    if "database" in arguments.parts:
        around = [sys.executable, str(ROOT / "tools" / "postgres.py"), "run", "--durable", "--"]
        size = QUICK_DATABASE_SIZE if quick else DATABASE_SIZE
        yield from ({"in": "database", **row} for row in run_size(arguments.program, "database", size, around))
    for part in ("depth", "fan-out", "answers"):
        if part in arguments.parts:
            say(part)
            yield from run(arguments.program, [part] if part == "depth" else [part, shape])


def machine() -> Row:
    names = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")] \
        if Path("/proc/cpuinfo").exists() else []  # fmt: skip
    return {"processor": names[0] if names else platform.processor(), "processors": os.cpu_count(),
            "system": platform.platform(), "load": os.getloadavg()[0]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/scale", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small sizes, two minutes")
    parser.add_argument("--largest", type=int, help="relationships of the largest size in memory (10,000,000)")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--charts", type=Path, help="draw SVG charts into that folder (needs matplotlib)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--from", dest="again", metavar="FILE", type=Path, help="print the tables of such a JSON file again"
    )
    parser.add_argument("--program", type=Path, help="bench/scale, built already")
    arguments = parser.parse_args()
    if arguments.program is None and not arguments.again:
        build()
        arguments.program = PROGRAM
    if arguments.quick:
        os.environ.setdefault("BENCH_TIME", "0.25")
        os.environ.setdefault("BENCH_WARMUP", "0.05")
    began = time.time()
    rows = (
        json.loads(arguments.again.read_text(encoding="utf-8"))["rows"] if arguments.again else list(measure(arguments))
    )
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        found = {"machine": machine(), "seconds": round(time.time() - began), "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    report = Report(rows)
    report.print_all()
    print(f"\n{time.time() - began:.0f} s on {machine()['processors']} processors, load {machine()['load']:.1f}")
    if arguments.charts:
        draw(report, arguments.charts)


if __name__ == "__main__":
    main()
