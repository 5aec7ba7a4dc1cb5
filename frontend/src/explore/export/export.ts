// Downloads of the run on the screen: the script that reproduces it, and files.
import type { ExportFile, ExportProps, Script } from "../../protocol.ts";
import { copied, h, setData } from "../../lib/dom.ts";
import { staticComponent } from "../../lib/mount.ts";
import style from "./export.css";
import { fetchServer, refusal, serverUrl } from "../../lib/server.ts";

const COPIED_MS = 1600; // that "Copied" stands on the button
const KEPT_MS = 60_000; // that a file is kept for the browser to save it

let open = 0; // which script is shown

function show(root: HTMLElement, { scripts, files, note, loading }: ExportProps): void {
  root.replaceChildren();
  if (scripts.length) showScripts(root, scripts);
  root.append(h("h3", null, "Files"));
  if (note) root.append(h("p", "quiet", note));
  root.append(h("ul", null, ...files.map(fileRow)));
  if (loading && files.length) root.append(loadingSnippet(loading));
  setData(root, { ready: true, files: files.length });
}

function showScripts(root: HTMLElement, scripts: Script[]): void {
  const code = h("pre", { tabindex: 0 });
  const buttons = scripts.map(({ title }, i) => h("button", { click: () => choose(i) }, title));
  const copy = copyButton(
    () => scripts[open].text,
    () => `Copy as ${scripts[open].title}`,
  );
  root.append(
    h("h3", null, "Reproduce"),
    h("div", { class: "tabs", role: "group", "aria-label": "Language" }, ...buttons, copy.node),
    code,
    h("p", "quiet", "Bit-identical on the same hardware."),
  );

  function choose(i: number): void {
    open = i;
    code.textContent = scripts[i].text;
    buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(i === j)));
    copy.reset();
  }
  choose(Math.min(open, scripts.length - 1));
}

export default staticComponent(style, "export", show);

function fileRow({ title, summary, url, name, problem }: ExportFile): HTMLElement {
  const words = h("span", "quiet", summary);
  const reason = h("span", { class: "problem", role: "status" }, problem);
  const content = [
    h("span", "words", h("strong", null, title), words, reason),
    h("span", "size quiet", name.slice(name.lastIndexOf("."))),
  ];
  if (problem) return h("li", null, h("span", { class: "file", "aria-disabled": true }, ...content));
  const link = h("a", { class: "file", href: serverUrl(url), download: name, click: (event) => void fetchFile(event) });
  link.append(...content);
  return h("li", null, link);

  /** Download with fetch: a plain link would not tell why the server refuses. */
  async function fetchFile(event: MouseEvent): Promise<void> {
    event.preventDefault();
    reason.textContent = "";
    words.textContent = "Is being made …";
    try {
      const response = await fetchServer(url);
      if (!response.ok) throw await refusal(response, title);
      const file = h("a", { href: URL.createObjectURL(await response.blob()), download: name });
      link.after(file); // in the page, as Firefox wants it, and in the panel, which a click outside of it closes
      file.click();
      file.remove();
      setTimeout(() => URL.revokeObjectURL(file.href), KEPT_MS);
    } catch (error) {
      reason.textContent = error instanceof Error ? error.message : String(error);
    }
    words.textContent = summary;
  }
}

function loadingSnippet(text: string): HTMLElement {
  const copy = copyButton(
    () => text,
    () => "Copy",
  );
  copy.reset();
  const line = h("div", "tabs", h("span", "quiet", "images: uint8, n × channels × height × width"), copy.node);
  return h("details", null, h("summary", null, "Load the weights"), h("pre", { tabindex: 0 }, text), line);
}

/** A button that copies `text()` and says so; `label()` is what it says otherwise. */
function copyButton(text: () => string, label: () => string): { node: HTMLElement; reset: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const node = h("button", { class: "copy", "aria-live": "polite", click: () => void click() });
  const reset = () => {
    clearTimeout(timer);
    node.textContent = label();
  };
  const click = async () => {
    node.textContent = (await copied(text())) ? "Copied" : "Select the text and copy it";
    clearTimeout(timer);
    timer = setTimeout(reset, COPIED_MS);
  };
  return { node, reset };
}
