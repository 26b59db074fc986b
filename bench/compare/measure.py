"""Times calls from Python: one caller or several threads, a warm-up, then a time in which every call counts; and what
slices of such times come to."""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from systems.base import Timing

# A reading of the clock takes 50 to 100 ns: shorter calls are timed together, in batches of about BATCH_NS.
BATCHED_BELOW_NS = 2_000
BATCH_NS = 20_000
CALIBRATION_NS = 5_000_000

Work = tuple[Callable[..., Any], Sequence[tuple[Any, ...]]]


def quantile(ordered: Sequence[float], p: float) -> float:
    """The sample that a share of p lies below or at; of samples in ascending order."""
    return ordered[int((len(ordered) - 1) * p)]


def batch_of(call_ns: float) -> int:
    """How many calls to time together."""
    return 1 if call_ns >= BATCHED_BELOW_NS else max(1, round(BATCH_NS / max(call_ns, 1)))


def calibrate(work: Work) -> float:
    """About how many nanoseconds a call takes."""
    function, arguments = work
    calls, start, end = 0, time.perf_counter_ns(), time.perf_counter_ns() + CALIBRATION_NS
    for some in itertools.cycle(arguments):
        function(*some)
        calls += 1
        if time.perf_counter_ns() >= end:
            break
    best = (time.perf_counter_ns() - start) / calls
    for _ in range(3):  # without the clock
        start = time.perf_counter_ns()
        deque(itertools.starmap(function, itertools.islice(itertools.cycle(arguments), min(calls, 100))), 0)
        best = min(best, (time.perf_counter_ns() - start) / min(calls, 100))
    return best


def batches(arguments: Sequence[tuple[Any, ...]], batch: int, first: int) -> Iterator[list[tuple[Any, ...]]]:
    """The arguments from number `first` on, over and over, in lists of `batch`; at most as many lists as there are
    arguments are made, and then made use of again."""
    endless = itertools.islice(itertools.cycle(arguments), first, None)
    made = [list(itertools.islice(endless, batch)) for _ in range(len(arguments) if batch > 1 else 0)]
    return itertools.cycle(made) if made else ([one] for one in endless)


@dataclass
class Caller:
    """One thread's part. Samples are nanoseconds of one call each, also those of batches."""

    function: Callable[..., Any]
    lists: Iterator[list[tuple[Any, ...]]]
    batch: int
    samples: array[float] = field(default_factory=lambda: array("d"))
    seconds: float = 0.0
    failure: BaseException | None = None

    def run(self, start: threading.Barrier, warmup_s: float, time_s: float) -> None:
        try:
            start.wait()
            self.loop(warmup_s, time_s)
        except BaseException as failure:  # told by the thread that waits for us
            self.failure = failure
            start.abort()

    def loop(self, warmup_s: float, time_s: float) -> None:
        now, function, lists, append = time.perf_counter_ns, self.function, self.lists, self.samples.append
        warm = now() + int(warmup_s * 1e9)
        while now() < warm:
            deque(itertools.starmap(function, next(lists)), 0)
        begin = now()
        end = begin + int(time_s * 1e9)
        while True:
            some = next(lists)
            before = now()
            deque(itertools.starmap(function, some), 0)
            after = now()
            append((after - before) / self.batch)
            if after >= end:
                break
        self.seconds = (after - begin) / 1e9


def summary(callers: Sequence[Caller]) -> Timing:
    batch = callers[0].batch
    ordered = sorted(itertools.chain.from_iterable(caller.samples for caller in callers))
    return Timing(
        median_ns=quantile(ordered, 0.5),
        p99_ns=quantile(ordered, 0.99),
        per_second=sum(len(caller.samples) * batch / caller.seconds for caller in callers),
        calls=len(ordered) * batch,
        batch=batch,
    )


class Timer:
    """Callers that are timed once or again and again, one thread for each piece of work: a function and the arguments of
    its calls. All begin at once, each at another place. What a call raises is raised by `time`."""

    def __init__(self, work: Sequence[Work]) -> None:
        batch = batch_of(calibrate(work[0]))
        self.callers = [
            Caller(function, batches(arguments, batch, len(arguments) * number // len(work)), batch)
            for number, (function, arguments) in enumerate(work)
        ]

    def time(self, warmup_s: float, time_s: float) -> Timing:
        callers = self.callers
        start = threading.Barrier(len(callers))
        for caller in callers:
            caller.samples, caller.failure = array("d"), None
        if len(callers) == 1:
            callers[0].run(start, warmup_s, time_s)
        else:
            threads = [threading.Thread(target=caller.run, args=(start, warmup_s, time_s)) for caller in callers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        failures = [caller.failure for caller in callers if caller.failure is not None]
        for failure in failures:
            if not isinstance(failure, threading.BrokenBarrierError):
                raise failure
        return summary(callers)


def time_threads(work: Sequence[Work], warmup_s: float, time_s: float) -> Timing:
    return Timer(work).time(warmup_s, time_s)


def joined(slices: Sequence[Timing]) -> Timing:
    """What they come to: medians of their medians and percentiles, calls a second by the mean."""
    return Timing(
        median_ns=statistics.median(one.median_ns for one in slices),
        p99_ns=statistics.median(one.p99_ns for one in slices),
        per_second=statistics.fmean(one.per_second for one in slices),
        calls=sum(one.calls for one in slices),
        batch=max(one.batch for one in slices),
        walk_ns=statistics.median(one.walk_ns for one in slices),
    )


def spread_over(count: int, parts: int) -> list[int]:
    """In parts as equal as can be."""
    return [count * (part + 1) // parts - count * part // parts for part in range(parts)]
