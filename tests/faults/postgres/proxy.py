"""A network between engine and server, which does what it is told."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


class Proxy:
    """Listens on a Unix socket, passes on what clients and server say; `change` may do anything to the server's bytes.

    change(offset, bytes) is asked for each piece, offset being that of the connection's reply so far, and returns the bytes
    to pass on; None: the connection is cut.
    """

    def __init__(self, server_path: Path, change: Callable[[int, bytes], bytes | None] | None = None) -> None:
        self.server_path, self.change = server_path, change
        self._folder = tempfile.TemporaryDirectory(prefix="licet-px-")
        self._port = 5432
        self._path = Path(self._folder.name) / f".s.PGSQL.{self._port}"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self._path))
        self._listener.listen(64)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.passed = 0  # bytes of the server, over all connections
        self.is_silent = False  # nothing is passed on any more
        self._is_refusing = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._folder.cleanup()

    @property
    def conninfo(self) -> str:
        return f"host={self._folder.name} port={self._port} user=licet dbname=postgres"

    def redirect(self, server_path: Path) -> None:
        """From now on it is another server."""
        self.server_path = server_path
        self._is_refusing = False

    def refuse(self) -> None:
        """Cuts all connections, and takes no new ones."""
        self._is_refusing = True
        with self._lock:
            cut, self._open = self._open, set()
        for one in cut:
            self._cut(one)

    def accept_again(self) -> None:
        self._is_refusing = False

    @staticmethod
    def _cut(one: socket.socket) -> None:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_refusing:
                self._cut(client)
                continue
            behind = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                behind.connect(str(self.server_path))
            except OSError:
                self._cut(client)
                continue
            with self._lock:
                self._open |= {client, behind}
            threading.Thread(target=self._pass, args=(client, behind, None), daemon=True).start()
            threading.Thread(target=self._pass, args=(behind, client, self.change), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, change: object) -> None:
        offset = 0
        with suppress(OSError):
            while True:
                piece: bytes | None = source.recv(65536)
                if not piece:
                    break
                size = len(piece)
                if callable(change):
                    piece = change(offset, piece)
                    self.passed += size
                    if piece is None:
                        break
                while self.is_silent:
                    time.sleep(0.01)
                offset += size
                target.sendall(piece)
        for one in (source, target):
            with self._lock:
                self._open.discard(one)
            self._cut(one)
