"""Draw pictures of the demonstration: the first screen of its report for README and docs, a track for the paper.

python docs/make_pictures.py [CHROMIUM]      # default: chromium
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURES = Path(__file__).with_name("_static")
SIZE = 1400, 860
"""Pixels of the window."""
WIDTH = 1050
"""Pixels of the picture."""


def main(chromium: str) -> None:
    """Run the demonstration, write its report, and draw the top of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mirflow = [sys.executable, "-m", "mirflow"]
        subprocess.run([*mirflow, "demo", folder / "demo", "--quiet"], check=True)
        page, picture = folder / "demo.html", folder / "demo.png"
        store = folder / "demo/stores/demo.zarr"
        subprocess.run([*mirflow, "report", store, "-o", page], check=True)
        track = ["-g", "chord", "-t", "skye-boat-song", "--to", "24", "--no-caption", "--width", "5"]
        subprocess.run([*mirflow, "plot", store, "timeline", *track, "-o", PICTURES / "timeline.png"], check=True)
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=4000"]
        window = f"--window-size={SIZE[0]},{SIZE[1]}"
        subprocess.run([chromium, *options, window, f"--screenshot={picture}", page.as_uri()], check=True)
        with Image.open(picture) as drawn:
            small = drawn.convert("RGB").resize((WIDTH, SIZE[1] * WIDTH // SIZE[0]), Image.Resampling.LANCZOS)
        small.quantize(255, dither=Image.Dither.NONE).save(PICTURES / "first-screen.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "chromium")
