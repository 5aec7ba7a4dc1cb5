// The page of an exported run, fed from the file instead of a server; in a site it also embeds drawings by itself.
import type { Drawing } from "../protocol.ts";
import { decodeBase64 } from "../lib/base64.ts";
import { drawnImage } from "./drawnImage.ts";
import { QueryNet, type Answer } from "./queryNet.ts";
import { RunPage, type RunContents } from "./runPage.ts";
import { h } from "../lib/dom.ts";
import { unpack } from "./unpack.ts";
import renderPad from "../workbench/query_pad/queryPad.tsx";

/** Contents of a page of a site (dmlviz/export/site_runs.py): the files of the run and of its projection. */
interface SitePage {
  records: string[];
  sprites: RunContents["sprites"];
  query?: RunContents["query"];
}

/** The contents; where they cannot be had, the page says why. */
async function keptContents(page: Document): Promise<RunContents> {
  const contents = JSON.parse(page.getElementById("kept")?.textContent ?? "") as RunContents | SitePage;
  if (!("records" in contents)) return contents;
  const { records, ...own } = contents;
  try {
    const [run, ...maps] = await Promise.all(records.map((file) => unpack<RunContents>(file)));
    const all = [run, ...maps];
    const streams = all.flatMap((record) => record.streams);
    const files = Object.assign({}, ...all.map((record) => record.files ?? {})) as RunContents["files"];
    return Object.assign(run, ...maps, own, { streams, files }) as RunContents;
  } catch (error) {
    page.querySelector("main")?.replaceChildren(h("p", "trouble", (error as Error).message));
    throw error;
  }
}

const PAD_HINT = "Draw; this page embeds it and finds its neighbors.";

const contents = await keptContents(document);
const description = contents.query;
let answer: Answer | null = null;
let trouble = "";
let net: Promise<QueryNet> | null = null; // fetched with the first stroke, or question

const place = document.getElementById("workbench");
if (!place) throw new Error("the page has no place for the run");
const page = new RunPage(place.attachShadow({ mode: "open" }), contents, {
  height: contents.height,
  addressed: location.protocol !== "about:", // the page in a notebook has none
  further: {
    pad: ({ parentElement, key }) =>
      renderPad({
        parentElement,
        key,
        data: { hint: PAD_HINT, point: description?.framing.point },
        setStateValue: (_name, value) => void ask(value as Drawing | null),
        setTriggerValue: () => {},
      }),
  },
  pad: description && contents.run,
  parts:
    description && !description.framing.point
      ? async (pair) => (await (net ??= QueryNet.load(description))).parts(pair)
      : undefined, // a point has no parts
});
const show = () => page.show(answer, trouble);
page.store.subscribe((change) => {
  if (!change.has("pinned") || page.store.state.pinned === null) return;
  answer = null;
  show();
});

/** Embed a drawing, or forget the last one. */
async function ask(drawing: Drawing | null): Promise<void> {
  answer = null;
  trouble = "";
  if (drawing && description) {
    try {
      net ??= QueryNet.load(description);
      answer = (await net).answer(decodeBase64(drawing.ink), drawing.side);
      page.store.set({ pinned: null });
    } catch {
      net = null;
      trouble = "The net could not be loaded from this site; reload the page.";
    }
  }
  show();
}

show();
globalThis.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);

/** The page's own net, preparation and files, to check them from outside. */
export { unpack } from "./unpack.ts";
export const loadNet = (): Promise<QueryNet> | null => (description ? (net ??= QueryNet.load(description)) : null);
export const prepareDrawing = (ink: Uint8Array, side: number): Uint8Array | null =>
  description ? drawnImage(ink, side, description.framing) : null;
