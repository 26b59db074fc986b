"""Servers that fork their workers: gunicorn with and without --preload, uWSGI with and without lazy loading. The application
opens its engine when it is loaded; in half of the runs it has used it, too, before workers are forked. Every worker answers
right, sees at full consistency what another process revokes, and goes on doing so while workers are replaced.

Servers that are not installed are counted as such.
"""

from __future__ import annotations

import http.client
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import licet
from common import Run, program, server

WORKERS = 3
CLIENTS = 8
SECONDS = 120

APPLICATION = """
import os, licet
engine = licet.open(os.environ["CONNINFO"], mode=os.environ["MODE"])
if os.environ["USED"] == "1":
    assert engine.allowed("document:base", "view", "user:ada", consistency=licet.FULL)

def application(environ, start_response):
    document, user, how = environ["PATH_INFO"].strip("/").split("/")
    consistency = licet.FULL if how == "full" else None
    try:
        said = str(engine.allowed(f"document:{document}", "view", f"user:{user}", consistency=consistency))
    except licet.Error as error:
        said = repr(error)
    body = f"{os.getpid()} {said}".encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""


def commands(socket_path):
    """{name: command}. None: not installed."""
    gunicorn = [sys.executable, "-m", "gunicorn.app.wsgiapp", f"--bind=unix:{socket_path}", f"--workers={WORKERS}"]
    gunicorn += ["--no-control-socket"] if "--no-control-socket" in help_of(gunicorn) else []
    gunicorn += ["--max-requests=50", "--log-level=warning", "application"]
    uwsgi = shutil.which("uwsgi", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    uwsgi_command = [
        uwsgi or "",
        f"--http-socket={socket_path}",
        "--master",
        f"--processes={WORKERS}",
        "--die-on-term",
        "--need-app",
        "--disable-logging",
        "--max-requests=50",
        "--module=application",
    ]
    has_gunicorn = subprocess.run([sys.executable, "-c", "import gunicorn"], capture_output=True).returncode == 0
    return {
        "gunicorn": gunicorn if has_gunicorn else None,
        "gunicorn --preload": [*gunicorn, "--preload"] if has_gunicorn else None,
        "uwsgi": uwsgi_command if uwsgi else None,
        "uwsgi --lazy-apps": [*uwsgi_command, "--lazy-apps"] if uwsgi else None,
    }


def help_of(command):
    return subprocess.run([*command[:3], "--help"], capture_output=True, text=True).stdout


class Connection(http.client.HTTPConnection):
    """Over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=SECONDS)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, document, user, how):
    """(pid of the worker, what it says). A worker that is being replaced may hang up before it takes a request."""
    end = time.monotonic() + SECONDS
    while True:
        connection = Connection(path)
        try:
            connection.request("GET", f"/{document}/{user}/{how}")
            pid, _, said = connection.getresponse().read().decode().partition(" ")
            return int(pid), said
        except (OSError, http.client.HTTPException):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        finally:
            connection.close()


def client(run, name, engine, path, number):
    """run.count times: grants, asks, revokes, asks. Returns the workers it met."""
    pids = set()
    for request in range(run.count):
        document = f"c{number}r{request}"
        row = f"document:{document}#viewer@user:ada"
        engine.touch(row)
        for expected in ("True", "False"):
            pid, said = ask(path, document, "ada", "full")
            pids.add(pid)
            run.tally.count("answers")
            if said != expected:
                run.tally.wrong("wrong answers", f"{name}: {said}, not {expected}")
            engine.delete(row)
        pid, said = ask(path, "base", "ada", "unasked")
        run.tally.count("answers")
        if said != "True":
            run.tally.wrong("wrong answers", f"{name}, unasked: {said}")
    return pids


def serve(run, name, command, folder, environment, engine):
    path, log = Path(folder) / "socket", Path(folder) / "log"
    with log.open("wb") as out, subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out) as child:
        try:
            with ThreadPoolExecutor(CLIENTS) as pool:
                clients = [pool.submit(client, run, name, engine, path, number) for number in range(CLIENTS)]
                ask(path, "base", "ada", "unasked")  # it knows its signals by then
                time.sleep(0.3)
                child.send_signal(signal.SIGHUP)  # new workers, while the old ones still answer
                pids = set().union(*(one.result() for one in clients))
            run.tally.count("workers", len(pids))
            run.tally.count(name)
            if len(pids) < WORKERS:
                run.tally.wrong("workers that did not work", f"{name}: {len(pids)}")
        except OSError as error:
            run.tally.wrong("servers that do not serve", f"{name}: {error}: {log.read_text()[-1000:]}")
        finally:
            child.terminate()
            try:
                status = child.wait(SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                run.tally.wrong("servers that do not end", name)
                return
    if status != 0:
        run.tally.wrong("servers that failed", f"{name}: status {status}: {log.read_text()[-1000:]}")


def fork_workers(run: Run) -> None:
    with server() as postgres, licet.open(postgres.conninfo, mode="prefetch") as engine:
        engine.touch("document:base#viewer@user:ada")
        for mode, used in itertools.product(run.modes, ("0", "1")):
            with tempfile.TemporaryDirectory(prefix="licet-wsgi-") as folder:
                (Path(folder) / "application.py").write_text(APPLICATION)
                # What re-executes itself may come up outside of a virtual environment.
                paths = os.pathsep.join(filter(None, sys.path))
                environment = {
                    **os.environ,
                    "PYTHONPATH": paths,
                    "CONNINFO": postgres.conninfo,
                    "MODE": mode,
                    "USED": used,
                }
                for name, command in commands(Path(folder) / "socket").items():
                    if command is None:
                        run.tally.count(f"{name} not installed")
                    else:
                        serve(run, f"{name}, {mode}", command, folder, environment, engine)


if __name__ == "__main__":
    sys.exit(program(__doc__, 10, 200, fork_workers))
