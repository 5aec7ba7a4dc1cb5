"""What a person waits for on a map of 250,000 points: first picture, pan, zoom, hover, memory of the page.

Wall-clock of the page, WebGL in software, which is the worst case. `python tests/bench/bench_large_map.py [POINTS]`.
With `--peer` it installs regl-scatterplot by npm in a temporary folder, moves the camera over the same points in both,
and writes the frames a second to docs/NUMBERS.md: `--peer [POINTS …]`.
"""

import argparse
import base64
import itertools
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "browser" / "harness"))
import serve

FLAGS = (
    "--no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader"
).split()
LOADED = "map().playback.entries.every(({ frame }) => map().playback.frames.has(frame))"
POINTS = 250_000
FRAMES = 30
PAN_S = 3.0
SIZES = (10_000, 60_000, 250_000, 1_000_000)
PEER = ["regl-scatterplot@1.16.0", "regl@2", "pub-sub-es@3"]
ROOT = Path(__file__).parents[2]
COSTS = ROOT / "docs" / "NUMBERS.md"
BEGIN, END = "<!-- bench_large_map.py --peer writes from here -->\n", "<!-- frames to here -->"
HEAD = """
| points | dmlviz | dmlviz, all points always | regl-scatterplot |
|---|---|---|---|
"""
LIMITS = {"first picture": 1000, "hover": 50, "memory": 300}  # ms, ms, MB

# Milliseconds from the last byte of the data to the first picture of all points.
FIRST_PICTURE = """(n) => new Promise((done) => {
  const look = () => {
    const { scene } = map();
    if (scene.frame?.count !== n || !scene.camera.view) return void requestAnimationFrame(look);
    scene.drawNow();
    const { gl } = scene.renderer;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    const drawn = performance.now();
    const data = performance.getEntriesByType("resource").filter(({ name }) => /i16|labels/.test(name));
    done(drawn - Math.max(...data.map(({ responseEnd }) => responseEnd)));
  };
  look();
})"""
TIMED = """(count) => {
  const { scene, interaction } = map();
  const { gl } = scene.renderer;
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // nothing of before is left to draw
  const taken = (act) => Array.from({ length: count }, (_, i) => {
    const began = performance.now();
    act(i);
    scene.drawNow();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    return performance.now() - began;
  });
  const { width, height } = scene.port;
  const hover = taken((i) => interaction.hover((i * 97) % width, (i * 61) % height));
  const all = taken(() => (scene.drawn = "")); // as after a change of color
  return { hover, "all points": all };
}"""
# Notes when something is drawn, and which share of the points.
COUNT = """() => {
  const { renderer } = map().scene, draw = renderer.draw.bind(renderer);
  window.drawings = { times: [], shares: [] };
  renderer.draw = (moment) => {
    drawings.times.push(performance.now());
    drawings.shares.push(1 / moment.every);
    draw(moment);
  };
}"""

# Notes the time of each frame in which points are drawn, and how many.
NOTE_FRAMES = """
window.drawn = new Map();
for (const { prototype } of [WebGLRenderingContext, WebGL2RenderingContext]) {
  const draw = prototype.drawArrays;
  prototype.drawArrays = function (mode, first, count) {
    const now = document.timeline.currentTime;
    if (mode === this.POINTS) drawn.set(now, Math.max(drawn.get(now) ?? 0, count));
    window.context = this;
    draw.call(this, mode, first, count);
  };
}
"""
# Waits for what is drawn; from the second call on with frames a second, and the median of the points drawn.
FRAMES_DRAWN = """() => {
  context.readPixels(0, 0, 1, 1, context.RGBA, context.UNSIGNED_BYTE, new Uint8Array(4));
  const counts = [...drawn.values()].sort((a, b) => a - b), seconds = (performance.now() - window.begun) / 1000;
  drawn.clear();
  window.begun = performance.now();
  return [counts.length / seconds, counts[counts.length >> 1]];
}"""
PEER_PAGE = """
import createScatterplot from "regl-scatterplot";
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
window.show = ({ width, height, xy, labels, pointSize, opacity, pointColor }) => {
  const canvas = document.querySelector("canvas");
  const options = { canvas, width, height, pointSize, opacity, pointColor, colorBy: "category" };
  const places = new Float32Array(bytes(xy)), category = Array.from(new Uint8Array(bytes(labels)));
  const along = (axis) => category.map((_, i) => places[2 * i + axis]);
  return createScatterplot(options).draw({ x: along(0), y: along(1), category });
};
"""
STYLE = """() => {
  const { scene: { port, style }, state } = map();
  const hex = (color) => "#" + color.map((part) => part.toString(16).padStart(2, "0")).join("");
  const { width, height } = port;
  return { width, height, pointSize: 2 * style.radius, opacity: style.opacity, pointColor: state.colors.map(hex) };
}"""


def memory(page: Page) -> float:
    """Megabytes that the page's objects and arrays take, after a collection of garbage."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    return sum(usage.get(name, 0) for name in ("usedSize", "embedderHeapUsedSize", "backingStorageSize")) / 1e6


def pan(page: Page) -> tuple[list[float], float]:
    """Drag the map with the mouse for three seconds: milliseconds from drawing to drawing, share of points drawn."""
    box = page.locator(".overlay").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(COUNT)
    end = time.monotonic() + PAN_S
    while time.monotonic() < end:
        page.mouse.move(x + 200 * math.sin(4 * end - 4 * time.monotonic()), y)
    page.mouse.up()
    times, shares = page.evaluate("[drawings.times, drawings.shares]")
    return [b - a for a, b in itertools.pairwise(times)], statistics.median(shares)


def frames(page: Page, place: str) -> tuple[float, float]:
    """Pan by mouse, zoom in and out by wheel: frames a second, and the median of the points drawn in one."""
    box = page.locator(place).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def during(act: Callable[[float], None]) -> None:
        begun = time.monotonic()
        while (spent := time.monotonic() - begun) < PAN_S:
            act(spent)

    page.mouse.move(x, y)
    page.wait_for_timeout(500)
    page.evaluate(FRAMES_DRAWN)
    page.mouse.down()
    during(lambda spent: page.mouse.move(x + 200 * math.sin(4 * spent), y + 60 * math.sin(3 * spent)))
    page.mouse.up()
    during(lambda spent: page.mouse.wheel(0, -20 if spent < PAN_S / 2 else 20))
    rate, points = page.evaluate(FRAMES_DRAWN)
    return rate, points


def open_ours(browser: Browser, url: str, n: int) -> Page:
    """The map of n points, loaded."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(240_000)
    page.add_init_script(NOTE_FRAMES)
    page.goto(f"{url}/?n={n}&renderer=webgl2")
    page.wait_for_selector('.map[data-state="finished"][data-ready="true"]')
    page.wait_for_function(LOADED)
    page.evaluate(FIRST_PICTURE, n)
    return page


def beside_peer(browser: Browser, url: str, bundle: Path, n: int) -> str:
    """A row of the table: frames a second of ours, ours with all points, and the peer's."""
    page = open_ours(browser, url, n)
    style = page.evaluate(STYLE)
    usual, drawn = frames(page, ".overlay")
    page.evaluate("map().scene.detail.next = () => 1")
    whole, _ = frames(page, ".overlay")
    page.close()
    xy = serve.positions(n, serve.STEPS)
    xy = xy / np.abs(xy).max()
    labels = serve.items(n)[2].astype(np.uint8)
    text = {name: base64.b64encode(array.tobytes()).decode() for name, array in {"xy": xy, "labels": labels}.items()}
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(240_000)
    page.add_init_script(NOTE_FRAMES)
    page.goto("about:blank")
    page.set_content(f'<canvas style="width: {style["width"]}px; height: {style["height"]}px"></canvas>')
    page.add_script_tag(path=bundle)
    page.evaluate("(all) => show(all)", style | text)
    theirs, their_points = frames(page, "canvas")
    assert their_points == n, f"{their_points:,} of {n:,} points drawn"
    page.close()
    few = "" if drawn == n else f" (one of {n / drawn:.0f} points)"
    return f"| {n:,} | {usual:.1f}{few} | {whole:.1f} | {theirs:.1f} |\n"


def beside_peers(browser: Browser, url: str, sizes: list[int]) -> None:
    """Write the table to the docs."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, *PEER], check=True)
        entry, bundle = Path(folder, "page.js"), Path(folder, "bundle.js")
        entry.write_text(PEER_PAGE, encoding="utf-8")
        esbuild = ROOT / "frontend" / "node_modules" / ".bin" / "esbuild"
        subprocess.run([esbuild, entry, "--bundle", f"--outfile={bundle}", "--log-level=error"], check=True)
        rows = []
        for n in sizes:
            rows.append(beside_peer(browser, url, bundle, n))
            print(rows[-1], end="", flush=True)
    before, _, rest = COSTS.read_text(encoding="utf-8").partition(BEGIN)
    COSTS.write_text(f"{before}{BEGIN}{HEAD}{''.join(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    """Print each figure with its limit, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", nargs="*", type=int)
    parser.add_argument("--peer", action="store_true", help="frames a second beside regl-scatterplot, into the docs")
    chosen = parser.parse_args()
    server = serve.serve()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=FLAGS)
        if chosen.peer:
            beside_peers(browser, url, chosen.points or list(SIZES))
        else:
            print_figures(browser, url, chosen.points[0] if chosen.points else POINTS)
        browser.close()
    server.shutdown()


def print_figures(browser: Browser, url: str, n: int) -> None:
    """Print each figure of a map with its limit."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    for _ in range(2):  # the server makes its data at the first visit
        page.goto(f"{url}/?n={n}&renderer=webgl2")
        page.wait_for_function("window.map && map()?.playback")
        first = page.evaluate(FIRST_PICTURE, n)
    page.wait_for_selector('.map[data-state="finished"][data-ready="true"]', timeout=120_000)
    page.wait_for_function(LOADED, timeout=120_000)
    print(f"{n:,} points")
    print(f"first picture {first:7.1f} ms (at most {LIMITS['first picture']})")
    for what, times in page.evaluate(TIMED, FRAMES).items():
        limit = f" (at most {LIMITS[what]})" if what in LIMITS else ""
        print(f"{what:<13} {statistics.median(times):7.1f} ms, worst {max(times):7.1f} ms{limit}", flush=True)
    between, share = pan(page)
    spent = f"{statistics.median(between):7.1f} ms from drawing to drawing, worst {max(between):7.1f} ms"
    print(f"pan by mouse  {spent}; one of {1 / share:.0f} points drawn")
    print(f"memory        {memory(page):7.1f} MB (at most {LIMITS['memory']})")


if __name__ == "__main__":
    main()
