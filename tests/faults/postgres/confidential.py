"""The hostile areas conninfo and store, and connections that fail for other reasons: an error of an acceptable kind, and the
password in no text that comes out, whole or in pieces of four characters: errors, representations, log lines, statistics,
the command line's output, what a debugger of Python would show.

Strings that are refused are refused before any use of the network: a process that may not open a socket, nor connect one,
refuses them all the same.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

import licet
from common import PrivatePostgres, Run, prepare, program

SHARED = Path(os.environ.get("LICET_SHARED") or Path(__file__).resolve().parents[4] / "shared") / "hostile"

# What kinds a refusal may have where the cases do not say.
REFUSALS = {"config", "unavailable", "deadline"}

OTHERS = [
    "host=127.0.0.1 port=1 user=bo dbname=app password={secret}",
    "postgresql://bo:{secret}@127.0.0.1:1/app",
    "postgresql://bo@127.0.0.1:1/app?password={secret}",
    "postgresql://bo:{secret}@127.0.0.1:1,127.0.0.1:2/app",
    "host=no.such.host.invalid user=bo dbname=app password={secret}",
    "host=/no/such/folder user=bo dbname=app password={secret}",
    "host=127.0.0.1 port=1 user=bo dbname=app password='{secret}",
    "host=127.0.0.1 port=1 user=bo dbname=app passwort={secret}",
    "host=127.0.0.1 port=1 user=bo dbname=app sslpassword={secret} sslmode=verify-full sslkey=/no/such sslcert=/no/such",
    "postgresql://bo:{secret}@[::1:5432/app",
    "postgresql://bo:pa:ss@{secret}@127.0.0.1:notaport/app",
]
SECRETS = ["Tr0ub4dor-plain", "kX9#qL2$vB7&", "p%41ssw%6Frd-xyzzy", "пароль-тайный"]


# ------------------------------------------------------------------- no network

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
AUDIT_AND_CALLS = {"x86_64": (0xC000003E, (41, 42)), "aarch64": (0xC00000B7, (198, 203))}  # socket, connect


def forbid_network():
    """From now on socket() and connect() kill this process. False where that can not be arranged."""
    if platform.machine() not in AUDIT_AND_CALLS:
        return False
    audit, calls = AUDIT_AND_CALLS[platform.machine()]
    load, equal, end = 0x20, 0x15, 0x06
    kill, allow = 0x80000000, 0x7FFF0000
    lines = [(load, 0, 0, 4), (equal, 1, 0, audit), (end, 0, 0, kill), (load, 0, 0, 0)]
    for number in calls:
        lines += [(equal, 0, 1, number), (end, 0, 0, kill)]
    lines.append((end, 0, 0, allow))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    filter_ = struct.pack("HP", len(lines), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    return (
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        and libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(filter_)) == 0
    )


# ------------------------------------------------------------------- the cases


def raw(value):
    """A text of the hostile cases: a string, or pieces of it."""
    if isinstance(value, str):
        return value.encode()
    pieces = {
        "hex": lambda one: bytes.fromhex(one["hex"]),
        "rep": lambda one: one["rep"][0].encode() * one["rep"][1],
    }
    return b"".join(
        one.encode() if isinstance(one, str) else next(pieces[kind](one) for kind in pieces if kind in one)
        for one in value["cat"]
    )


def cases():
    """Those that a str can hold."""
    for area in ("conninfo", "store"):
        path = SHARED / f"{area}.jsonl"
        for line in path.read_text(encoding="ascii").splitlines() if path.exists() else ():
            case = json.loads(line)
            with suppress(UnicodeDecodeError):
                raw(case["input"]["conninfo"]).decode()
                yield case


def conninfo_of(case, folder):
    text = raw(case["input"]["conninfo"]).decode("utf-8", "surrogateescape")
    if "file" in case["input"]:
        file = Path(folder) / f"{case['id']}.db"
        file.write_bytes(raw(case["input"]["file"]))
        text = text.replace("{file}", str(file))
    return text


def told_by(error):
    """Whatever of an error may come before somebody's eyes."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(lines[-1:]) + repr(error) + str(error) + repr(error.args) + repr(error.__cause__) + error.message


def refuse(text):
    """(kind, message) of the refusal; None: it was taken. What a lazy engine says on opening or on its first use."""
    try:
        with licet.open(text, wait_timeout_ms=300) as engine:
            engine.allowed("document:plan", "view", "user:ada", consistency=licet.FULL)
    except licet.Error as error:
        return error.kind, told_by(error)
    return None


def in_cell(texts):
    """What a process without a network says of each text: [(kind, told) or None, ...]; a string: why it could not."""
    done = subprocess.run(
        [sys.executable, __file__, "cell"], input=json.dumps(texts), capture_output=True, text=True, timeout=120
    )
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr[-500:]}"
    return json.loads(done.stdout)


def cell():
    texts = json.loads(sys.stdin.read())
    if not forbid_network():
        print(json.dumps("no"))
        return
    found = []
    for text in texts:
        try:
            licet.open(text).close()
            found.append(None)
        except licet.Error as error:
            found.append((error.kind, told_by(error)))
    print(json.dumps(found))


def pieces(secret):
    """No four characters of it may be told."""
    return {secret[at : at + 4] for at in range(len(secret) - 3)}


def judge_texts(run, what, told, secrets):
    for secret in secrets:
        shown = [piece for piece in pieces(secret) if piece in told]
        if shown:
            run.tally.wrong("secrets told", f"{what}: {shown} in {told[:300]}")


def hostile(run, folder):
    every = list(cases())
    if not every:
        run.tally.count("shared cases that are not there: see LICET_SHARED", 1)
    early = [case for case in every if case["expect"].get("must_not_connect")]
    found = in_cell([conninfo_of(case, folder) for case in early])
    if found == "no":
        run.tally.count("processes without a network that could not be had")
    elif isinstance(found, str):
        run.tally.wrong("uses of the network", found)
    else:
        for case, one in zip(early, found):
            judge_case(run, case, one)
            run.tally.count("cases without a network")
    for case in every:
        judge_case(run, case, refuse(conninfo_of(case, folder)))
        run.tally.count("cases of " + case["area"])


def judge_case(run, case, found):
    expect = case["expect"]
    if found is None:
        run.tally.wrong("taken", case["id"])
        return
    kind, told = found
    if kind not in expect["kinds"]:
        run.tally.wrong("other kinds", f"{case['id']}: {kind}, not one of {expect['kinds']}: {told[:200]}")
    judge_texts(run, case["id"], told, expect.get("must_not_contain", ()))


# ------------------------------------------------------------------- connections that fail


def command_line(conninfo):
    """Its output, errors too."""
    outputs = []
    for arguments in (
        ["check", "--db", conninfo, "document:plan", "view", "user:ada"],
        ["relationships", "read", "--db", conninfo, "--resource-type", "document"],
        ["migrate", "--db", conninfo],
        ["doctor", "--db", conninfo],
    ):
        command = [sys.executable, "-m", "licet", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={**os.environ, "PGCONNECT_TIMEOUT": "2"}
        )
        outputs.append(done.stdout + done.stderr)
    return "".join(outputs)


def failing(run):
    for form in OTHERS:
        for secret in SECRETS:
            text = form.format(secret=secret)
            found = refuse(text)
            run.tally.count("connections that fail")
            if found is None:
                run.tally.wrong("taken", form)
                continue
            kind, told = found
            if kind not in REFUSALS:
                run.tally.wrong("other kinds", f"{form}: {kind}")
            judge_texts(run, form, told, [secret])
        judge_texts(run, f"{form} on the command line", command_line(text), [secret])


def wrong_password(run):
    """A server that asks for one, and is told another: its own answers name the user only."""
    with PrivatePostgres(tcp=True) as postgres:
        prepare(postgres.conninfo)
        postgres.psql("CREATE ROLE ada LOGIN PASSWORD 'Kx9vQzL2'; GRANT licet TO ada")
        (postgres.data / "pg_hba.conf").write_text("host all ada 127.0.0.1/32 scram-sha-256\n")
        postgres.restart()
        for password in ("Wj7tYfB5", "Kx9vQzL2"):
            try_password(run, f"host=127.0.0.1 port={postgres.port} user=ada dbname=postgres password=", password)


def try_password(run, conninfo, password):
    told = []
    conninfo += password
    with licet.open(conninfo, wait_timeout_ms=2000, log=lambda level, text: told.append(text)) as engine:
        try:
            allowed = engine.allowed("document:plan", "view", "user:ada", consistency=licet.FULL)
            if password.startswith("W") or allowed:
                run.tally.wrong("wrong answers", f"password: {allowed}")
        except licet.Error as error:
            told.append(told_by(error))
            if password.startswith("K"):
                run.tally.wrong("right passwords refused", told[-1])
        told += [repr(engine), str(engine), repr(engine.stats())]
    told.append(command_line(conninfo))
    judge_texts(run, "a password", "".join(told), [password])
    run.tally.count("passwords tried")


def keep_secrets(run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hostile(run, folder)
    failing(run)
    wrong_password(run)


if __name__ == "__main__":
    if sys.argv[1:] == ["cell"]:
        cell()
    else:
        sys.exit(program(__doc__, 1, 1, keep_secrets))
