// @ts-nocheck
// What can be kept of the run on the screen: the script that gives it again, and files to download.
import { element } from "../../lib/element.ts";
import { mount, panel } from "../../lib/mount.ts";
import style from "./export.css";

const SAID = 1600; // milliseconds that "Copied" stands on the button

export default function ({ parentElement, data }) {
  return mount(parentElement, style, keepIn, (keep) => keep.update(data ?? {}));
}

function keepIn(parent) {
  let open = 0;
  return panel(parent, "keep", show);

  function show(root, { scripts = [], files = [], note = "", loading = "" }) {
    root.replaceChildren();
    if (scripts.length) showScripts(root, scripts);
    root.append(element("h3", "", "Files"));
    if (note) root.append(element("p", "quiet", note));
    const list = element("ul");
    list.append(...files.map(rowOf));
    root.append(list);
    if (loading && files.length) root.append(loadingOf(loading));
    root.dataset.ready = "true";
    root.dataset.files = files.length;
  }

  function showScripts(root, scripts) {
    const code = element("pre");
    code.tabIndex = 0;
    const tabs = element("div", "tabs");
    tabs.setAttribute("role", "group");
    tabs.setAttribute("aria-label", "Language");
    const buttons = scripts.map(({ title }, i) => {
      const button = element("button", "", title);
      button.type = "button";
      button.addEventListener("click", () => choose(i));
      return button;
    });
    const copy = copyButton(() => scripts[open].text, () => `Copy as ${scripts[open].title}`);
    tabs.append(...buttons, copy.node);
    root.append(
      element("h3", "", "The same again"), tabs, code,
      element("p", "quiet", "Gives the same numbers on the same kind of machine."),
    );

    function choose(i) {
      open = i;
      code.textContent = scripts[i].text;
      buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(i === j)));
      copy.rest();
    }
    choose(Math.min(open, scripts.length - 1));
  }
}

function rowOf({ title, summary, url, name, size }) {
  const row = element("li");
  const link = element("a", "file");
  Object.assign(link, { href: url, download: name });
  const words = element("span", "words");
  words.append(element("strong", "", title), element("span", "quiet", summary));
  link.append(words, element("span", "size quiet", size ?? name.slice(name.lastIndexOf("."))));
  row.append(link);
  return row;
}

function loadingOf(text) {
  const details = element("details");
  const code = element("pre", "", text);
  code.tabIndex = 0;
  const copy = copyButton(() => text, () => "Copy");
  copy.rest();
  const line = element("div", "tabs");
  line.append(element("span", "quiet", "images: uint8, n × channels × height × width"), copy.node);
  details.append(element("summary", "", "How to load the weights"), code, line);
  return details;
}

/** A button that copies `text()` and says so; `label()` is what it says otherwise. */
function copyButton(text, label) {
  const node = element("button", "copy");
  node.type = "button";
  node.setAttribute("aria-live", "polite");
  let timer = 0;
  const rest = () => {
    clearTimeout(timer);
    node.textContent = label();
  };
  node.addEventListener("click", async () => {
    node.textContent = (await copied(text())) ? "Copied" : "Mark the text and copy it";
    clearTimeout(timer);
    timer = setTimeout(rest, SAID);
  });
  return { node, rest };
}

/** Put text on the clipboard; on a page that is neither https nor localhost only the old way is open. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    area.style.position = "fixed";
    area.style.opacity = 0;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
