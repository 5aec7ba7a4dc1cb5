// @ts-nocheck
// What the map says about itself: legend counts, captions, attributes for tests, the bus, screen readers.
import { bus, page } from "../../lib/bus.ts";
import { mark } from "../../lib/dom.ts";
import { statusOf } from "../ui/status.ts";

const sum = (mask) => mask.reduce((a, b) => a + b, 0);

/** Bring all that surrounds the points up to date with a MapView. */
export function report(view) {
  const { model, scene, playback, theme, root } = view;
  countClasses(view);
  view.toolbar.update(view);
  view.alarm.update(view);
  view.foot.update(view);
  view.bar.update(playback.timeline, playback.player, theme);
  // Until a new run has a frame of its own, the stage still holds the one before, faded.
  const visible = playback.shown && scene.frame ? sum(scene.usable) : 0;
  const [caption, note] = statusOf(view, visible);
  view.colouring.update(view, view.colouring.name === "error" ? wrongOnes(view) : 0);
  view.caption.textContent = caption;
  view.status.textContent = note;
  if (!playback.player.playing) mark(view.overlay, "aria-label", view.summary());
  const index = Math.floor(playback.player.head);
  const attributes = {
    run: view.data.run,
    view: view.pid ?? "live",
    frame: index,
    step: playback.shown?.step ?? "",
    points: visible,
    pinned: model.pinned ?? "",
    selected: model.selected ? sum(model.selected) : 0,
    playing: playback.player.playing,
    state: playback.timeline.state,
    mode: view.mode,
    dims: view.solid ? 3 : 2,
    turned: view.orbit.version,
    colour: model.numbers || view.colouring.name === "error" ? view.colouring.name : "class",
    renderer: scene.renderer.kind,
    ready: playback.shown !== null && scene.frame !== null && scene.port.width > 0,
  };
  for (const [name, value] of Object.entries(attributes)) mark(root, `data-${name}`, value);
  tellFrame(view, index);
  tellPinned(view);
  view.leaving?.look();
}

function wrongOnes({ model, scene }) {
  let wrong = 0;
  for (let i = 0; i < model.n; i++) if (scene.usable?.[i] && model.isWrong(i)) wrong++;
  return wrong;
}

// Counting goes through all items, so only when something that counts has changed.
function countClasses(view) {
  const { model, scene, markers: shapes, colours, theme } = view;
  const present = scene.frame?.present ?? null;
  if (view.counted?.present === present && view.counted.model === model) return;
  view.counted = { present, model, ...model.counts(present ?? new Uint8Array(model.n)) };
  view.legend.update({ model, counts: view.counted, colours, shapes, theme });
  // The legend may have grown; for a selection, which comes and goes, the points do not make way.
  if (!model.selected) view.measure();
}

// Whoever pinned it, Python or the person; a part that comes later finds it on the page.
function tellPinned({ data: { run }, model: { pinned: item } }) {
  if (page.pinned?.run === run && page.pinned.item === item) return;
  page.pinned = { run, item };
  bus.emit("pinned", page.pinned);
}

function tellFrame(view, index) {
  const { playback, data } = view;
  const { playing } = playback.player;
  const key = `${data.run} ${view.pid} ${index} ${playback.shown?.step} ${playing}`;
  if (key === view.told || !playback.shown) return;
  view.told = key;
  bus.emit("frame", {
    run: data.run, view: view.pid ?? "live", index, count: playback.entries.length, step: playback.shown.step,
    playing, leads: view.link.leads, total: view.link.total, source: view,
  });
  if (!playing) view.announcer.say(view.summary());
}
