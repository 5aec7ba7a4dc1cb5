// Cards of pages to go to, in sections, with a picture each: a symbol of one file of drawings, or one of its own.
import { heeding } from "../../lib/boundary.ts";
import { svg } from "../../charts/svg.ts";
import { h, setData } from "../../lib/dom.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { fetchServer } from "../../lib/server.ts";
import type { Card, CardIndexProps, CardSection } from "../../protocol.ts";
import style from "./cardIndex.css";

export default function ({ parentElement, data }: ComponentArguments<CardIndexProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new CardIndex(parent),
    (index) => index.update(data),
  );
}

class CardIndex {
  private readonly heed = heeding();
  private symbols = h("div", { class: "symbols", "aria-hidden": "true" });
  private content = h("div");
  private root = h("section", "card-index", this.symbols, this.content);
  private before = "";

  constructor(parent: ParentNode) {
    parent.append(this.root);
  }

  update({ sections, pictures }: CardIndexProps): void {
    const now = JSON.stringify(sections);
    if (now !== this.before) this.content.replaceChildren(...sections.map(sectionOf));
    this.before = now;
    if (!pictures) setData(this.root, { ready: true });
    else if (!this.symbols.children.length) this.heed(this.load(pictures));
  }

  destroy(): void {
    this.root.remove();
  }

  /** Without its drawings the index is still one. */
  private async load(address: string): Promise<void> {
    const answer = await fetchServer(address).catch(() => null);
    if (answer?.ok) this.symbols.innerHTML = await answer.text(); // a file of this program
    setData(this.root, { ready: true });
  }
}

function sectionOf({ title, text, heading, cards, form }: CardSection): HTMLElement {
  const list = h("ul", null, ...cards.map((card) => h("li", null, cardOf(card, form))));
  return h("section", form, title ? h(`h${heading}`, null, title) : null, text ? h("p", null, text) : null, list);
}

function cardOf({ address, title, text, note, picture, chart }: Card, form: CardSection["form"]): HTMLElement {
  const large = form === "large";
  return h(
    "a",
    { href: address, class: picture ? "pictured" : "", title: large ? "" : text },
    picture ? drawingOf(picture) : null,
    h("strong", null, title),
    large ? h("span", "text", text) : null,
    chart ? h("img", { src: `data:image/svg+xml,${encodeURIComponent(chart)}`, alt: "" }) : null,
    note ? h("span", "note", note) : null,
  );
}

function drawingOf(name: string): SVGSVGElement {
  const drawing = svg("svg", { viewBox: "0 0 240 144", "aria-hidden": "true" });
  drawing.append(svg("use", { href: `#${name}` }));
  return drawing;
}
