// The map in a notebook, as an anywidget (https://anywidget.dev): Jupyter, Colab, VS Code, marimo. Its messages are
// described in dmlviz/notebook/widget.py. The widget's state holds all that it shows.
import type { RunEvent } from "../protocol.ts";
import { h } from "../lib/dom.ts";
import { stream } from "../lib/eventStream.ts";
import { luminance, readTheme } from "../lib/theme.ts";
import { RunPage, type RunContents } from "../standalone/runPage.ts";
import style from "./notebook.css";

/** Hide the pages of a widget, also those that come later; what is returned shows them again. */
function hidePages(id: string): () => void {
  const page = `.dmlviz-page[data-widget="${CSS.escape(id)}"]`;
  const style = document.createElement("style");
  // In JupyterLab the output around it, too, which would leave a gap.
  style.textContent = `${page}, .jp-OutputArea-child:has(${page}) { display: none !important; }`;
  document.head.append(style);
  return () => style.remove();
}

interface State {
  contents: RunContents;
  pinned: number | null;
  selected: number[];
  height: number;
  page_id: string;
}

/** The model of anywidget: the state that Python shares, and messages from there. */
interface Model {
  get<Name extends keyof State>(name: Name): State[Name];
  set<Name extends keyof State>(name: Name, value: State[Name]): void;
  save_changes(): void;
  on(name: string, listener: (message: News) => void): void;
  off(name: string, listener: (message: News) => void): void;
  send(content: unknown): void;
}

/** New lines of the log of a run, or of its projection `pid`, from line `from` on, with the frames that they name. */
interface News {
  run: string;
  pid: string | null;
  from: number;
  events: RunEvent[];
  frames: Record<string, string>;
}

/** Once for each widget in a page, before it is drawn. */
function initialize({ model }: { model: Model }): () => void {
  const take = (news: News) => stream.feed(news);
  model.on("msg:custom", take);
  try {
    model.send({ event: "ready" }); // Python answers with what is there already
  } catch {
    // without a kernel, the state holds everything
  }
  return () => model.off("msg:custom", take);
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  el.classList.add("dmlviz-map"); // by which the page below knows that there is a widget
  const showPages = hidePages(model.get("page_id"));
  const root = el.attachShadow({ mode: "open" });
  const main = h("main");
  root.append(h("style", null, style), main);
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
    page?.store.set({ pinned: model.get("pinned"), selected: items.length ? mask : null }, model);
    page?.show();
  };
  const open = (contents: RunContents) => {
    page?.destroy();
    page = new RunPage(main, contents, { height: model.get("height") });
    const { store } = page;
    store.subscribe((change, source) => {
      if (source === model) return;
      const { pinned, selected } = store.state;
      if (change.has("pinned")) tell("pinned", pinned);
      if (change.has("selected")) tell("selected", selected ? [...selected.keys()].filter((i) => selected[i]) : []);
    });
  };
  const build = () => {
    const contents = model.get("contents");
    if (page?.store.state.run === contents.run) page.take(contents);
    else open(contents);
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
