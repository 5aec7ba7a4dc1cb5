// @ts-nocheck
// What all components of a page share. Where they are not put together into one script, each loads its own copy of a
// module, so the one common place is globalThis.

/** The page's common ground: `streams` is filled by stream.js, `listeners` by the bus, `mounts` and `left` by the map. */
export const page = (globalThis[Symbol.for("dmlviz.page")] ??= {
  listeners: new Map(), mounts: {}, left: new Map(), streams: null,
});

/**
 * A tiny bus: "hover" and "pin" {run, item, source}, "frame" {run, view, index, count, step, playing}, "seek" {run,
 * step, scrub: whether to stand between frames too}, "play" {run}, "select" {run, items, reason} and "selection"
 * (selection.js), "pinned" {run, item}, "metric" its name, "ranks" (map/ranks.js), "study" {run, what, film}, the film
 * being that of a picture of one's own, of which "asked" {run, film} tells when there is a new one.
 */
export const bus = {
  emit(name, detail) {
    for (const listener of [...(page.listeners.get(name) ?? [])]) listener(detail);
  },

  /** Listen until the returned function is called. */
  on(name, listener) {
    if (!page.listeners.has(name)) page.listeners.set(name, new Set());
    page.listeners.get(name).add(listener);
    return () => page.listeners.get(name).delete(listener);
  },
};
