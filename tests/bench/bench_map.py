"""What drawing the map costs: CPU per frame of a tween, against a plain canvas loop on the same points and page.

CPU seconds of the browser's processes are counted, not wall-clock time, so that a busy machine does not blur the ratio.
Without a graphics card WebGL runs in software and is a worst case. Run with DMLVIZ_DATA set:
`python tests/bench/bench_map.py`.
"""

import os
import shutil
import statistics
import sys
import threading
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "browser" / "harness"))
import serve

FLAGS = (
    "--no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader"
).split()
ROUNDS = 3
FRAMES = 40
HIGHLIGHT_ROUNDS = 15

PREPARE = """() => {
  const { scene, playback } = map();
  const last = scene.frame;
  const turned = (angle) => {
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const xy = last.xy.map((v, j) => (j % 2 ? last.xy[j - 1] * s + v * c : v * c - last.xy[j + 1] * s));
    return { ...last, xy };
  };
  window.tween = scene.tween.constructor.stretch(turned(-0.4), last, turned(0.4), turned(0.8));
  scene.invalidate = () => {};
  playback.tick = () => {};
}"""
OURS = """(count) => {
  const { scene } = map();
  const gl = scene.renderer.gl;
  const pixel = new Uint8Array(4);
  for (let i = 0; i < count; i++) {
    scene.play(tween, i / count, scene.frame);
    scene.drawNow();
    // Without a question about a pixel nothing need be drawn yet.
    if (gl) gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    else scene.renderer.context.getImageData(0, 0, 1, 1);
  }
}"""
# Interpolates linearly on the CPU and fills a little circle a point: what one writes first.
PLAIN = """(count) => {
  const { scene, model, state: { colors } } = map();
  const canvas = (window.plain ??= document.createElement("canvas"));
  canvas.width = scene.renderer.canvas.width;
  canvas.height = scene.renderer.canvas.height;
  const context = canvas.getContext("2d");
  const names = colors.map((color) => `rgb(${color})`);
  const { k, x: cx, y: cy } = scene.camera.view;
  const { width, height } = scene.port;
  for (let f = 0; f < count; f++) {
    const t = f / count;
    context.clearRect(0, 0, width, height);
    context.globalAlpha = 0.7;
    for (let i = 0; i < model.n; i++) {
      const x = tween.p0[2 * i] * (1 - t) + tween.p1[2 * i] * t;
      const y = tween.p0[2 * i + 1] * (1 - t) + tween.p1[2 * i + 1] * t;
      context.fillStyle = names[model.labels[i]];
      context.beginPath();
      context.arc((x - cx) * k + width / 2, height / 2 - (y - cy) * k, 2.1, 0, 6.2832);
      context.fill();
    }
    context.getImageData(0, 0, 1, 1);
  }
}"""
LOADED = "map().playback.entries.every(({ frame }) => map().playback.frames.has(frame))"
PICK = """(count) => {
  const { scene } = map();
  for (let i = 0; i < count; i++) scene.pick((i * 37) % scene.port.width, (i * 61) % scene.port.height, 12);
}"""
BRUTE = """(count) => {
  const { scene, model } = map();
  const xy = scene.places();
  let found = 0;
  for (let q = 0; q < count; q++) {
    const [x, y] = scene.toWorld((q * 37) % scene.port.width, (q * 61) % scene.port.height);
    let best = -1, least = (12 / scene.camera.view.k) ** 2;
    for (let i = 0; i < model.n; i++) {
      const d = (xy[2 * i] - x) ** 2 + (xy[2 * i + 1] - y) ** 2;
      if (scene.usable[i] && d < least) { least = d; best = i; }
    }
    found += best;
  }
  return found;
}"""
SAME_PICKS = """() => {
  const { scene, model } = map();
  const xy = scene.places();
  for (let q = 0; q < 300; q++) {
    const [sx, sy] = [(q * 37) % scene.port.width, (q * 61) % scene.port.height];
    const [x, y] = scene.toWorld(sx, sy);
    let best = -1, least = (12 / scene.camera.view.k) ** 2;
    for (let i = 0; i < model.n; i++) {
      const d = (xy[2 * i] - x) ** 2 + (xy[2 * i + 1] - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    if (best !== scene.pick(sx, sy, 12)) return false;
  }
  return true;
}"""

# Milliseconds from what Python sends for a click (a pin and ten neighbors) to the picture with rings and lines, and
# from a selection of every second point to the picture with the others faded.
HIGHLIGHTS = """async (rounds) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const { gl } = map().scene.renderer;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    done(performance.now());
  })));
  const timed = async (change) => {
    await painted();
    const began = performance.now();
    change();
    return (await painted()) - began;
  };
  const pins = [], selections = [];
  for (let i = 0; i < rounds; i++) {
    const neighbors = Array.from({ length: 10 }, (_, k) => ({ item: 100 * i + k + 1, distance: 0.1 * k }));
    pins.push(await timed(() => update({ pinned: 100 * i, neighbors })));
    const { model } = map();
    const mask = Uint8Array.from({ length: model.n }, (_, k) => (k + i) % 2);
    selections.push(await timed(() => { model.select(mask); map().painter.repaint(); }));
    model.selected = null;
    map().painter.repaint();
  }
  return { pins, selections };
}"""


def browser_cpu() -> float:
    """CPU seconds so far of all processes that descend from this one, itself left out."""
    parents, seconds = {}, {}
    ticks = os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        parents[int(entry.name)] = int(fields[1])
        seconds[int(entry.name)] = (int(fields[11]) + int(fields[12])) / ticks

    def descends(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    return sum(spent for pid, spent in seconds.items() if descends(pid))


def cost(page: Page, script: str, count: int) -> float:
    """CPU milliseconds that one of `count` repetitions takes."""
    before = browser_cpu()
    page.evaluate(script, count)
    return 1000 * (browser_cpu() - before) / count


def opened(browser: Browser, base: str, n: int, renderer: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(f"{base}?n={n}&renderer={renderer}&near=0")
    page.wait_for_selector('.map[data-state="finished"][data-ready="true"]', timeout=120_000)
    page.wait_for_function(LOADED, timeout=120_000)
    time.sleep(1)
    return page


def main() -> None:
    """Print CPU milliseconds per frame and per pick, medians of interleaved rounds."""
    server = serve.serve()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}/"
    print(f"{'points':>7} {'what':<22} {'ours ms':>8} {'plain ms':>9} {'ratio':>6}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"), args=FLAGS
        )
        for n in (2_000, 10_000, 60_000):
            for renderer in ("webgl2", "canvas"):
                page = opened(browser, base, n, renderer)
                assert page.evaluate("map().scene.renderer.kind") == renderer
                if renderer == "webgl2":
                    highlights(page, n)
                page.evaluate(PREPARE)
                ours, plain = [], []
                for _ in range(ROUNDS):
                    ours.append(cost(page, OURS, FRAMES))
                    plain.append(cost(page, PLAIN, FRAMES // 4))
                row(n, f"frame by {renderer}", ours, plain)
                if renderer == "webgl2":
                    page.evaluate("(f) => map().scene.play(tween, 1, map().scene.frame)", None)
                    assert page.evaluate(SAME_PICKS), "the grid picks another point than a look at all points"
                    ours, plain = [], []
                    for _ in range(ROUNDS):
                        ours.append(cost(page, PICK, 100_000))
                        plain.append(cost(page, BRUTE, 400))
                    row(n, "pick the nearest", ours, plain)
                page.close()
        browser.close()
    server.shutdown()


def highlights(page: Page, n: int) -> None:
    """Print the wall-clock of a highlight, which is what a person waits for; it is to be within 120 ms."""
    taken = page.evaluate(HIGHLIGHTS, HIGHLIGHT_ROUNDS)
    for what, times in taken.items():
        spread = f"median {statistics.median(times):6.1f} ms, worst {max(times):6.1f} ms"
        print(f"{n:>7} {what + ' painted':<22} {spread}", flush=True)
    assert page.evaluate("map().layout.root.dataset.mounts") == "1"


def row(n: int, what: str, ours: list[float], plain: list[float]) -> None:
    mine, theirs = statistics.median(ours), statistics.median(plain)
    print(f"{n:>7} {what:<22} {mine:>8.4f} {theirs:>9.4f} {theirs / max(mine, 1e-5):>6.1f}", flush=True)


if __name__ == "__main__":
    main()
