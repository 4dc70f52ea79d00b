"""A server in a thread of the tests, for clients that speak HTTP over a real connection."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mirflow.campaign.server.app import make_server


@contextmanager
def running(app: Any, root: str = "") -> Iterator[str]:
    """Serve an application on a free port of this machine; gives its address."""
    with socket.socket() as listening:  # given to the server as it is, so that nobody takes its port
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        server = make_server(app, port=port)
        server.config.root_path = root  # a path that uvicorn puts before those that it is asked for
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()
