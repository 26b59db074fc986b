"""A network that is not to be trusted: between engine and server the bytes of the server's replies are changed, cut, repeated
and delayed, one place after the other. Whatever comes, the process lives, every call is back in time, and nobody is allowed
what they are not. Then the network is down in other ways, and comes back.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import licet
from common import Run, program, server
from proxy import Proxy

WAIT_MS = 150
WRITE_MS = 150
GRACE_MS = 50
ATTEMPTS = 10  # on a machine that others share, what is late once may not be late again
CHUNK = 40  # places that one process tries
PROCESSES = 6  # at a time: they mostly wait

# Names are far from each other: no change of one byte makes one of another, nor a wildcard.
GRANTS = ["document:plan#viewer@group:engineers#member", "group:engineers#member@user:adalovelace"]
BAN = ["document:secret#viewer@user:adalovelace", "document:secret#banned@user:adalovelace"]

QUESTIONS = {
    "granted": ("document:plan", "view", "user:adalovelace"),
    "nobody's": ("document:plan", "view", "user:zzzzzzzzzzz"),
    "banned": ("document:secret", "view", "user:adalovelace"),
}


# ------------------------------------------------------------------- what happens to a byte


def at(place: int, act: Callable[[bytes, int], bytes | None]) -> Callable[[int, bytes], bytes | None]:
    """Acts on the piece that holds the place, once for each connection."""

    def change(offset: int, piece: bytes) -> bytes | None:
        inside = place - offset
        return act(piece, inside) if 0 <= inside < len(piece) else piece

    return change


def changed(mask: int) -> Callable[[bytes, int], bytes]:
    return lambda piece, inside: piece[:inside] + bytes([piece[inside] ^ mask]) + piece[inside + 1 :]


def cut(piece: bytes, inside: int) -> None:
    """Nothing more of the piece arrives, and the connection ends."""
    return None


def repeated(piece: bytes, inside: int) -> bytes:
    return piece[: inside + 1] + piece[max(0, inside - 4) :]


def left_out(piece: bytes, inside: int) -> bytes:
    return piece[:inside] + piece[inside + 1 :]


def zeroed(piece: bytes, inside: int) -> bytes:
    return piece[:inside] + bytes(len(piece) - inside)


def late(piece: bytes, inside: int) -> bytes:
    time.sleep(WAIT_MS / 1000 + 0.2)
    return piece


ACTS = {
    "changed": changed(0x01),
    "inverted": changed(0xFF),
    "cut": cut,
    "repeated": repeated,
    "left out": left_out,
    "zeroed": zeroed,
    "delayed": late,
}
# What leaves no valid answer that is another one.
LOSSLESS = ("cut", "delayed")


# ------------------------------------------------------------------- the questions


def timed(call):
    """(answer or the name of an error, ms it took)."""
    started = time.monotonic()
    try:
        answer = call()
    except licet.Error as error:
        answer = type(error).__name__
    return answer, (time.monotonic() - started) * 1000


def open_engine(proxy, mode):
    return licet.open(
        proxy.conninfo, mode=mode, wait_timeout_ms=WAIT_MS, write_timeout_ms=WRITE_MS, max_staleness_ms=1000
    )


def ask(proxy, mode):
    """[(what, answer, ms late), ...]: all that a new engine says."""
    with open_engine(proxy, mode) as engine:
        checks, took_ms = timed(lambda: engine.check_bulk(QUESTIONS.values(), consistency=licet.FULL))
        if isinstance(checks, str):
            found = [("checks", checks, took_ms - WAIT_MS)]
        else:
            said = [type(one.error).__name__ if one.error else one.allowed for one in checks]
            found = [(name, answer, took_ms - WAIT_MS) for name, answer in zip(QUESTIONS, said)]
        written, took_ms = timed(lambda: bool(engine.touch("document:other#viewer@user:bohr")))
        return [*found, ("write", written, took_ms - WRITE_MS)]


def always_late(attempts):
    """What was so each time. The checks are of one call."""

    def late(found):
        return {"checks" if what in QUESTIONS else what for what, _, late_ms in found if late_ms > GRACE_MS}

    return set.intersection(*map(late, attempts))


def ask_in_time(ask_once):
    """What is said, again where it came late: [found, ...], until nothing was late each time."""
    attempts = [ask_once()]
    while always_late(attempts) and len(attempts) < ATTEMPTS:
        attempts.append(ask_once())
    return attempts


def ask_at(path, mode, act, place):
    with Proxy(path, at(place, ACTS[act])) as proxy:
        return ask(proxy, mode)


def try_places(path, mode, act, places, pipe):
    """In a process of its own, which may not survive it."""
    for place in places:
        pipe.send((place, None))
        pipe.send((place, ask_in_time(lambda p=place: ask_at(path, mode, act, p))))
    pipe.close()


def judge_all(run, where, act, attempts):
    for found in attempts:
        judge(run, where, act, found)
    if always_late(attempts):
        run.tally.wrong("late", f"{where}, {ATTEMPTS} times: {attempts[-1]}")


def judge(run, where, act, found):
    for what, answer, _ in found:
        told = f"{where}: {what} {answer}"
        if what == "nobody's" and answer is True:
            run.tally.wrong("allowed to nobody", told)
        if what == "banned" and answer is True and act in LOSSLESS:
            run.tally.wrong("allowed to the banned", told)
        run.tally.count("answers" if isinstance(answer, bool) else "errors")


def try_chunk(run, path, mode, act, places):
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    child = spawn.Process(target=try_places, args=(path, mode, act, places, theirs))
    child.start()
    theirs.close()
    place = None
    try:
        while ours.poll(300):
            place, attempts = ours.recv()
            if attempts is not None:
                judge_all(run, f"byte {place} {act}, {mode}", act, attempts)
                run.tally.count("bytes " + act)
        run.tally.wrong("hangs", f"byte {place} {act}, {mode}")
        child.kill()
    except EOFError:
        child.join()
        if child.exitcode != 0:
            run.tally.wrong("crashes", f"byte {place} {act}, {mode}: status {child.exitcode}")


def reply_size(postgres, mode):
    """The most bytes that the server says on one connection to one who asks all."""
    longest = [0]

    def measure(offset, piece):
        longest[0] = max(longest[0], offset + len(piece))
        return piece

    wanted = {"granted": True, "nobody's": False, "banned": False, "write": True}
    for _ in range(20 * ATTEMPTS):
        with Proxy(postgres.socket_path, measure) as proxy:
            found = {name: answer for name, answer, _ in ask(proxy, mode)}
        if found == wanted:
            return longest[0]
    raise AssertionError(found)


def interfere_with_bytes(run, postgres, mode):
    size = reply_size(postgres, mode)
    run.tally.most("bytes of a reply at most", size)
    with ThreadPoolExecutor(PROCESSES) as pool:
        tried = []
        for act in ACTS:
            # A repeated byte is as good as one left out: both move all that follows.
            wanted = min(size, run.count if act in ("changed", "cut", "repeated") else max(1, run.count // 10))
            places = sorted(run.random.sample(range(size), wanted))
            for first in range(0, len(places), CHUNK):
                chunk = places[first : first + CHUNK]
                tried.append(pool.submit(try_chunk, run, postgres.socket_path, mode, act, chunk))
        for one in tried:
            one.result()


# ------------------------------------------------------------------- the network


def silence(proxy):
    proxy.is_silent = True


def end_silence(proxy):
    proxy.is_silent = False


NETWORKS = {"refused": (Proxy.refuse, Proxy.accept_again), "silent": (silence, end_silence)}


def break_network(run, postgres, mode, name):
    """It works, then it does not, then it works again."""
    break_it, mend = NETWORKS[name]
    with Proxy(postgres.socket_path) as proxy, open_engine(proxy, mode) as engine:

        def granted(**how):
            return timed(lambda: engine.allowed(*QUESTIONS["granted"], **how))

        assert until_true(lambda: granted(consistency=licet.FULL)[0])
        break_it(proxy)
        calls = {
            "full": lambda: granted(consistency=licet.FULL),
            "write": lambda: timed(lambda: engine.touch("document:other#viewer@user:bohr")),
            "unasked": granted,
        }
        for what, call in calls.items():
            if what == "unasked":
                time.sleep(1.1)  # until the graph is too old

            def ask_once(what=what, call=call):
                said, took_ms = call()
                return [(what, said, took_ms - WAIT_MS)]

            attempts = ask_in_time(ask_once)
            judge_all(run, f"network {name}, {mode}", name, attempts)
            for said in [found[0][1] for found in attempts]:
                if said not in ("Unavailable", "DeadlineExceeded"):
                    run.tally.wrong("answers without a network", f"{name}, {mode}: {what} {said}")
        mend(proxy)
        if not until_true(lambda: granted(consistency=licet.FULL)[0]):
            run.tally.wrong("no recovery", f"{name}, {mode}")
        run.tally.count("networks " + name)


def until_true(attempt):
    end = time.monotonic() + 120
    while attempt() is not True:
        if time.monotonic() > end:
            return False
    return True


def interfere(run: Run) -> None:
    """run.count: places for each kind of mischief."""
    with server() as postgres, licet.open(postgres.conninfo, mode="prefetch") as engine:
        engine.touch(*GRANTS, *BAN)
        for mode in run.modes:
            interfere_with_bytes(run, postgres, mode)
            for name in NETWORKS:
                break_network(run, postgres, mode, name)


if __name__ == "__main__":
    sys.exit(program(__doc__, 10, 100000, interfere))
