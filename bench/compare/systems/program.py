"""A system that answers and times itself in a program of its own, by the commands that bench/caller.c describes."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from systems.base import Answer, Bulk, Check, Lookup, Request, System, Timing, Unavailable


def line_of(request: Request) -> str:
    if isinstance(request, Check):
        return " ".join(["check", *request])
    if isinstance(request, Bulk):
        return " ".join(["bulk", str(len(request.items)), *(word for item in request.items for word in item)])
    return " ".join(["lookup", *request])


def answer_from(request: Request, told: Any) -> Answer:
    if isinstance(request, Check):
        if not isinstance(told, bool):
            raise TypeError(f"not an answer to a check: {told!r}")
        return told
    if not isinstance(told, list):
        raise TypeError(f"not a list: {told!r}")
    return frozenset(told) if isinstance(request, Lookup) else tuple(told)


class Process:
    """The program while it runs, and the folder that its requests are written to."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """A `{folder}` in the command stands for the folder."""
        self._folder = tempfile.TemporaryDirectory(prefix="licet-compare-")
        self._log = tempfile.TemporaryFile()
        self._written: dict[str, Sequence[Request]] = {}
        try:
            self._process = subprocess.Popen(
                [word.format(folder=self._folder.name) if word == "{folder}" else word for word in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                env=environment,
            )
        except OSError as failure:
            self._folder.cleanup()
            raise Unavailable(f"{command[0]}: {failure}") from failure

    def ask(self, command: str) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
            told = self._process.stdout.readline()
        except BrokenPipeError:
            told = ""
        if not told:
            self._process.wait(10)
            self._log.seek(0)
            raise RuntimeError(f"{command}: {self._log.read().decode(errors='replace').strip()[-2000:]}")
        return json.loads(told)

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, name: str, lines: Sequence[str]) -> None:
        """A file of its folder."""
        (Path(self._folder.name) / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def give(self, requests: Sequence[Request], command: str = "requests") -> None:
        """By a command with the name of a file. Nothing, when it has them already."""
        if requests != self._written.get(command):
            self.write(command, [line_of(request) for request in requests])
            self.ask(f"{command} {command}")
            self._written[command] = requests

    def close(self) -> None:
        self._process.communicate()
        self._log.close()
        self._folder.cleanup()


class Program(System):
    """`command` starts it; the rest is the same for all."""

    def __init__(self) -> None:
        self.process: Process | None = None

    def start(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.process = Process(command, environment)

    def processes(self) -> list[int]:
        return [self.process.pid] if self.process is not None else []

    def answers(self, requests: Sequence[Request], consistency: str) -> list[Answer]:
        assert self.process is not None
        self.process.give(requests)
        told = self.process.ask(f"answer {consistency}")
        return [answer_from(request, answer) for request, answer in zip(requests, told)]

    def time(
        self, requests: Sequence[Request], consistency: str, callers: int, warmup_s: float, time_s: float
    ) -> Timing:
        assert self.process is not None
        self.process.give(requests)
        return Timing(**self.process.ask(f"time {consistency} {callers} {warmup_s} {time_s}"))

    def close(self) -> None:
        if self.process is not None:
            self.process.close()
            self.process = None
