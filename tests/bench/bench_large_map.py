"""What a person waits for on a map of 250,000 points: first picture, pan, zoom, hover, memory of the page.

Wall-clock of the page, WebGL in software, which is the worst case. `python tests/bench/bench_large_map.py [POINTS]`.
"""

import itertools
import math
import statistics
import sys
import threading
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "browser" / "harness"))
import serve
from bench_map import FLAGS, LOADED

POINTS = 250_000
FRAMES = 30
PAN_S = 3.0
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


def main() -> None:
    """Print each figure with its limit."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else POINTS
    server = serve.serve()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/?n={n}&renderer=webgl2"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        for _ in range(2):  # the server makes its data at the first visit
            page.goto(url)
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
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
