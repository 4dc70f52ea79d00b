"""Readers of a leaderboard at once: the server beside servers of static files, and its memory over time.

    python benchmarks/service.py [--systems 50] [--tracks 2000] [--readers 200] [--seconds 8] [--rounds 3]
                                 [--nginx PATH] [--wrk PATH]

Makes a store, serves it, and lets so many readers ask for the page of its leaderboard as fast as they get it. The same
bytes come from nginx, if there is one, from uvicorn with Starlette's StaticFiles, and from Python's http.server, in
turns. The client is wrk, if there is one, else a small one of its own, which takes longer than the servers do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import psutil

import mirflow
from mirflow.store import StoreWriter
from mirflow.store.cells import Cells, GroupContent
from mirflow.store.read import content_of

PAGE = "/stores/large/chord/"
NGINX = """\
worker_processes 2; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 2048; }}
http {{ access_log off; sendfile on; keepalive_requests 10000000; client_body_temp_path {folder}/body;
proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
scgi_temp_path {folder}/scgi; server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}
"""
STATIC = """\
import uvicorn
from starlette.staticfiles import StaticFiles
uvicorn.run(StaticFiles(directory={folder!r}, html=True), port={port}, log_level="error", access_log=False)
"""
LUA = """\
done = function(summary, latency, requests)
  io.write(string.format("RESULT %f %f %f %f %d\\n", summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(95) / 1000, latency:percentile(99) / 1000,
    summary.errors.status + summary.errors.timeout + summary.errors.connect + summary.errors.read))
end
"""
Result = tuple[float, float, float, float, int]
"""Requests a second; median, 95th and 99th percentile in ms; errors."""


def large_store(path: Path, systems: int, tracks: int, seed: int = 0) -> None:
    """Publish scores of chords of many systems on many tracks, with metrics of a real run."""
    chords = {"a": ([[0.0, 10.0], [10.0, 20.0]], ["C:maj", "G:7"])}
    small = content_of(mirflow.score(chords, {"x": chords}, "chord"), "chord")
    rng = np.random.default_rng(seed)
    names = tuple(f"system-{number:02d}" for number in range(systems))
    songs = tuple(f"track-{number:04d}" for number in range(tracks))
    measures, cells = small.cells.measures, systems * tracks
    skill, ease = np.linspace(0.6, 1, systems)[:, None, None], rng.beta(5, 2, tracks)[None, :, None]
    score = np.clip(skill * ease + rng.normal(0, 0.05, (systems, tracks, len(measures))), 0, 1)
    seconds = rng.uniform(100, 300, tracks)
    weight = np.broadcast_to(seconds[None, :, None], score.shape)
    made = Cells(
        tuple(name for name in names for _ in songs),
        songs * systems,
        measures,
        score.reshape(cells, -1),
        weight.reshape(cells, -1).copy(),
        np.ones(cells, np.int8),
        np.zeros(cells, np.int32),
        ("",) * cells,
        ("",) * cells,
        np.zeros(cells, np.int64),
        np.tile(seconds, systems),
        {},
    )
    content = GroupContent("chord", names, songs, made, small.metric_coords, {}, {}, small.attrs)
    with StoreWriter(path) as writer:
        writer.publish([content], {"name": "large"})


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def process(
    command: list[str], address: str, cwd: Path, environment: Mapping[str, str] | None = None
) -> Iterator[psutil.Process]:
    """A server, from its first answer on."""
    quiet = subprocess.DEVNULL
    started = subprocess.Popen(command, cwd=cwd, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(address, timeout=60):
                    break
            except OSError:
                assert started.poll() is None, command
                time.sleep(0.1)
        yield psutil.Process(started.pid)
    finally:
        os.killpg(started.pid, signal.SIGTERM)
        started.wait()


def ask_by_wrk(wrk: str, script: Path, address: str, readers: int, seconds: float) -> Result:
    """Load by wrk."""
    command = [wrk, "-t1", f"-c{readers}", f"-d{seconds:.0f}", "-s", str(script), address]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    line = next(line for line in printed.splitlines() if line.startswith("RESULT")).split()
    return float(line[1]), float(line[2]), float(line[3]), float(line[4]), int(line[5])


async def ask_by_sockets(address: str, readers: int, seconds: float, headers: str = "") -> Result:
    """Load by connections of asyncio; further headers end in line breaks."""
    host, _, path = address.removeprefix("http://").partition("/")
    name, port = host.split(":")
    request = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode()
    spent: list[float] = []
    errors = 0
    until = time.perf_counter() + seconds

    async def read() -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(name, int(port))
        while (began := time.perf_counter()) < until:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            spent.append(time.perf_counter() - began)
            errors += b" 200 " not in head[:20]
            if b"connection: close" in head or head.startswith(b"http/1.0"):
                writer.close()
                reader, writer = await asyncio.open_connection(name, int(port))
        writer.close()

    done = await asyncio.gather(*(read() for _ in range(readers)), return_exceptions=True)
    errors += sum(isinstance(one, BaseException) for one in done)
    median, high, higher = np.percentile(spent, [50, 95, 99]) * 1000
    return len(spent) / seconds, float(median), float(high), float(higher), errors


def measure(asked: argparse.Namespace, folder: Path) -> None:
    """Serve, ask in turns, and print."""
    folder.chmod(0o755)  # workers of nginx are nobody
    large_store(folder / "large.zarr", asked.systems, asked.tracks)
    (folder / "www").mkdir()
    (folder / "p95.lua").write_text(LUA)
    ports = {name: free_port() for name in ("mirflow", "nginx", "static", "http")}
    base = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    with ExitStack() as stack:
        begin = [sys.executable, "-m", "mirflow", "serve", "large.zarr", "--port", str(ports["mirflow"])]
        began = time.perf_counter()
        ours = stack.enter_context(process(begin, base["mirflow"] + "/health", folder))
        started = time.perf_counter()
        page = urllib.request.urlopen(base["mirflow"] + PAGE, timeout=120).read()
        print(f"start {started - began:.1f} s, first page {time.perf_counter() - started:.1f} s, {len(page)} bytes")
        (folder / "www/index.html").write_bytes(page)
        servers = {"mirflow": base["mirflow"] + PAGE}
        if asked.nginx:
            conf = folder / "nginx.conf"
            conf.write_text(NGINX.format(folder=folder, port=ports["nginx"]))
            stack.enter_context(process([asked.nginx, "-c", str(conf)], f"{base['nginx']}/index.html", folder))
            servers["nginx"] = f"{base['nginx']}/index.html"
        script = folder / "static.py"
        script.write_text(STATIC.format(folder=str(folder / "www"), port=ports["static"]))
        stack.enter_context(process([sys.executable, str(script)], f"{base['static']}/index.html", folder))
        servers["uvicorn StaticFiles"] = f"{base['static']}/index.html"
        simple = [sys.executable, "-m", "http.server", str(ports["http"]), "--bind", "127.0.0.1"]
        stack.enter_context(process(simple, f"{base['http']}/index.html", folder / "www"))
        servers["python http.server"] = f"{base['http']}/index.html"
        found: dict[str, list[Result]] = {name: [] for name in servers}
        memory = [ours.memory_info().rss / 1e6]
        for turn in range(asked.rounds):
            for name, address in servers.items():
                if asked.wrk:
                    result = ask_by_wrk(asked.wrk, folder / "p95.lua", address, asked.readers, asked.seconds)
                else:
                    result = asyncio.run(ask_by_sockets(address, asked.readers, asked.seconds))
                found[name].append(result)
                print(
                    f"{turn + 1}  {name:20s} {result[0]:8.0f}/s  p50 {result[1]:7.2f}  p95 {result[2]:7.2f} ms", end=""
                )
                print(f"  p99 {result[3]:7.2f}  errors {result[4]}", flush=True)
            memory.append(ours.memory_info().rss / 1e6)
            memory.append(walk(base["mirflow"], asked.tracks, turn, ours))
        report(found, memory)


def walk(base: str, tracks: int, turn: int, server: psutil.Process) -> float:
    """Ask for pages of tracks that nobody asked for before, which are made and kept; memory in MB after it."""
    for number in range(min(300, tracks)):
        place = (turn * 300 + number) % tracks
        urllib.request.urlopen(f"{base}/stores/large/chord/tracks/track-{place:04d}/").read()
    return server.memory_info().rss / 1e6


def report(found: Mapping[str, list[Result]], memory: list[float]) -> None:
    """Ratios of the medians of the rounds."""
    medians = {name: float(np.median([one[2] for one in results])) for name, results in found.items()}
    for name, value in medians.items():
        if name != "mirflow":
            ratio = medians["mirflow"] / value
            print(f"p95 {medians['mirflow']:.1f} ms against {value:.1f} ms of {name}: {ratio:.1f} times")
    print(f"memory of the server in MB, before and after each round: {' '.join(f'{one:.0f}' for one in memory)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=50)
    parser.add_argument("--tracks", type=int, default=2000)
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nginx", default=shutil.which("nginx") or "")
    parser.add_argument("--wrk", default=shutil.which("wrk") or "")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(asked, Path(folder))


if __name__ == "__main__":
    main()
