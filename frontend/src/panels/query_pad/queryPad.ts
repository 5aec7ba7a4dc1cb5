// @ts-nocheck
// The drawing pad: pen, finger or mouse leave ink; a moment after the pen is lifted Python receives it.
import { mount } from "../../lib/mount.ts";
import { WIDTH, drawingOf } from "./strokes.ts";
import style from "./queryPad.css";

const PAUSE = 120; // ms after pen-up before a drawing is sent, so that a figure of two strokes is sent once

// Drawings outlive their component: switching a tab unmounts it, and nobody wants to draw again.
const drawings = (globalThis.__dmlvizDrawings ??= new Map());

export default function ({ parentElement, key, data, setStateValue }) {
  return mount(parentElement, style, (parent) => padIn(parent, key ?? "pad"), (pad) => {
    pad.send = (drawing) => setStateValue("drawing", drawing);
    pad.update(data ?? {});
  });
}

function padIn(parent, key) {
  const root = document.createElement("div");
  root.className = "pad";
  root.innerHTML = `
    <canvas tabindex="0" role="img" aria-label="Drawing pad. Draw with pen, finger or mouse."></canvas>
    <div class="beside"><button type="button" data-do="undo">Undo</button>
      <button type="button" data-do="clear">Clear</button><span class="hint"></span></div>`;
  parent.appendChild(root);
  const canvas = root.querySelector("canvas");
  const hint = root.querySelector(".hint");
  const context = canvas.getContext("2d");
  let strokes = drawings.get(key) ?? [];
  let stroke = null;
  let timer = 0;
  const pad = { send: () => {}, update, stop };

  function paint() {
    const side = canvas.clientWidth * devicePixelRatio;
    if (canvas.width !== side) canvas.width = canvas.height = side;
    context.clearRect(0, 0, side, side);
    context.strokeStyle = getComputedStyle(root).color;
    context.lineWidth = WIDTH * side;
    context.lineCap = context.lineJoin = "round";
    for (const points of strokes) {
      context.beginPath();
      context.moveTo(points[0][0] * side, points[0][1] * side);
      for (const [x, y] of points) context.lineTo(x * side, y * side);
      context.stroke();
    }
    root.dataset.strokes = strokes.length;
    hint.textContent = strokes.length ? "" : hint.dataset.words ?? "";
    for (const button of root.querySelectorAll("button")) button.disabled = !strokes.length;
  }

  function changed() {
    drawings.set(key, strokes);
    paint();
    clearTimeout(timer);
    timer = setTimeout(() => pad.send(drawingOf(strokes)), PAUSE);
  }

  function pointOf(event) {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    clearTimeout(timer);
    canvas.setPointerCapture(event.pointerId);
    stroke = [pointOf(event)];
    strokes = [...strokes, stroke];
    paint();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!stroke) return;
    for (const part of event.getCoalescedEvents?.() ?? [event]) stroke.push(pointOf(part));
    paint();
  });
  const lift = () => {
    if (!stroke) return;
    stroke = null;
    changed();
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  root.addEventListener("click", (event) => {
    const what = event.target.dataset?.do;
    if (!what) return;
    strokes = what === "undo" ? strokes.slice(0, -1) : [];
    changed();
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || (event.key === "z" && (event.ctrlKey || event.metaKey))) {
      strokes = event.key === "Escape" ? [] : strokes.slice(0, -1);
      changed();
    }
  });
  const watcher = new ResizeObserver(paint);
  watcher.observe(canvas);

  function update({ hint: words }) {
    hint.dataset.words = words ?? "Draw here";
    paint();
    root.dataset.ready = "true";
  }

  function stop() {
    clearTimeout(timer);
    watcher.disconnect();
    root.remove();
  }
  return pad;
}
