// The map in a notebook, as an anywidget (https://anywidget.dev): Jupyter, Colab, VS Code, marimo. What the widget is
// told and tells is in dmlviz/notebook/widget.py. All that it shows lies in its state.
import type { RunEvent } from "../protocol.ts";
import { packBits, unpackBits } from "../lib/bitmask.ts";
import { h } from "../lib/dom.ts";
import { stream } from "../lib/eventStream.ts";
import { luminance, readTheme } from "../lib/theme.ts";
import { PARTS, RunPage, type Hosts, type RunContents } from "../standalone/runPage.ts";
import style from "./notebook.css";
import { hidePages } from "./restingPage.ts";

interface State {
  contents: RunContents;
  pinned: number | null;
  selected: number[];
  height: number;
  page_id: string;
}

/** What anywidget gives: the state that Python shares, and messages from there. */
interface Model {
  get<Name extends keyof State>(name: Name): State[Name];
  set<Name extends keyof State>(name: Name, value: State[Name]): void;
  save_changes(): void;
  on(name: string, listener: (message: News) => void): void;
  off(name: string, listener: (message: News) => void): void;
  send(content: unknown): void;
}

/** New lines of a run's log, from line `from` on, with the frames that they name. */
interface News {
  run: string;
  from: number;
  events: RunEvent[];
  frames: Record<string, string>;
}

/** Once for each widget in a page, before it is drawn. */
function initialize({ model }: { model: Model }): () => void {
  const take = ({ run, from, events, frames }: News) => stream.feed({ run, events, frames, from });
  model.on("msg:custom", take);
  try {
    model.send({ event: "ready" }); // Python answers with what is there already
  } catch {
    // without a kernel, the state tells everything
  }
  return () => model.off("msg:custom", take);
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  el.classList.add("dmlviz-map"); // by which the page below knows that there is a widget
  const showPages = hidePages(model.get("page_id"));
  const root = el.attachShadow({ mode: "open" });
  const sections = Object.fromEntries(PARTS.map((name) => [name, h("section", `part-${name}`)]));
  const main = h("main", null, ...PARTS.map((name) => sections[name]));
  root.append(h("style", null, style), main);
  const hosts = Object.fromEntries(PARTS.map((name) => [name, sections[name].attachShadow({ mode: "open" })])) as Hosts;
  let page: RunPage | null = null;

  const tell = <Name extends keyof State>(name: Name, value: State[Name]) => {
    model.set(name, value);
    model.save_changes();
  };
  const show = () => {
    el.classList.toggle("dark", luminance(readTheme(el).background) < 0.3);
    const items = model.get("selected");
    const mask = new Uint8Array(model.get("contents").n);
    for (const item of items) if (item < mask.length) mask[item] = 1;
    page?.show(model.get("pinned"), items.length ? packBits(mask).bits : null);
  };
  const build = () => {
    const contents = model.get("contents");
    page?.destroy();
    main.classList.toggle("plain", contents.plain);
    page = new RunPage(
      hosts,
      contents,
      {
        onPin: (item) => tell("pinned", item),
        onSelect(bits) {
          const mask = bits === null ? new Uint8Array() : unpackBits(bits, contents.n);
          tell(
            "selected",
            [...mask.keys()].filter((item) => mask[item]),
          );
        },
      },
      { height: model.get("height") },
    );
    show();
  };
  const theme = new MutationObserver(show); // JupyterLab says its theme in attributes of the body
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  model.on("change:contents", build);
  for (const name of ["pinned", "selected", "height"]) model.on(`change:${name}`, show);
  build();
  return () => {
    showPages();
    theme.disconnect();
    model.off("change:contents", build);
    for (const name of ["pinned", "selected", "height"]) model.off(`change:${name}`, show);
    page?.destroy();
  };
}

export default { initialize, render };
