"""A network between a test and a service, which the test can unplug."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread


class Network:
    """Forwards connections to a service, as long as it is `plugged`; else it keeps them, and nothing comes through."""

    def __init__(self, port: int, watch: Callable[[bytes], object]) -> None:
        self._service = port
        self._watch = watch
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listening.getsockname()[1]
        self._plugged = Event()
        self._plugged.set()
        self._open: list[socket.socket] = []

    def unplug(self) -> None:
        self._plugged.clear()

    def plug_in(self) -> None:
        """Forward again; connections from before are dead."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._plugged.set()

    def accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listening.accept()
                self._open.append(client)
                if not self._plugged.is_set():
                    continue
                service = socket.create_connection(("127.0.0.1", self._service))
                self._open.append(service)
                for one, other, watch in ((client, service, self._watch), (service, client, len)):
                    Thread(target=self._forward, args=(one, other, watch), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, watch: Callable[[bytes], object]) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                watch(data)
                self._plugged.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        for one in (self._listening, *self._open):
            one.close()


@contextmanager
def network_to(port: int, watch: Callable[[bytes], object] = len) -> Iterator[Network]:
    """A network to the service at a port; `watch` is called with what clients send, before it is forwarded."""
    network = Network(port, watch)
    Thread(target=network.accept, daemon=True).start()
    try:
        yield network
    finally:
        network.close()
