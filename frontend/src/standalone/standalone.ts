// The page of an exported run, fed from the file instead of a server.
import { PARTS, RunPage, type Hosts, type RunContents } from "./runPage.ts";

const contents = JSON.parse(document.getElementById("kept")?.textContent ?? "") as RunContents;
let pinned: number | null = null;

const hosts = Object.fromEntries(
  PARTS.map((name) => {
    const node = document.getElementById(name);
    if (!node) throw new Error(`the page has no place for ${name}`);
    return [name, node.attachShadow({ mode: "open" })];
  }),
) as Hosts;

const page = new RunPage(hosts, contents, {
  onPin(item) {
    pinned = item;
    page.show(pinned);
  },
});
page.show(pinned);
globalThis.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.show(pinned));
