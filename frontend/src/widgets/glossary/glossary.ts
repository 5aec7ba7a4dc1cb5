// One for the whole page: explains the word under the pointer, in the focus, or tapped, whatever panel it stands in. The
// explanations come when the first one is asked for.
import { heeding } from "../../lib/boundary.ts";
import { h } from "../../lib/dom.ts";
import { TERM } from "../../lib/glossary.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { BASE, fetchServer, ROUTES } from "../../lib/server.ts";
import { navigate } from "../../lib/router.ts";
import type { GlossaryProps, GlossaryTerm } from "../../protocol.ts";
import style from "./glossary.css";

const LINK = /^learn\?topic=glossary#(.+)$/; // as `address` in dmlviz/catalog/glossary.py writes it
const PAGE_LINK = /^[a-z]*\?/; // to a page of the app, as a text has it; Streamlit's own links begin with a slash
const GAP = 6; // pixels
const DWELL_MS = 150; // a pointer on its way elsewhere asks for nothing
const LEAVE_MS = 250; // in which it may come into the explanation

export default function ({ parentElement }: ComponentArguments<GlossaryProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new Glossary(parent),
    () => undefined,
  );
}

/** The term of an element, if it has one. */
export function termOf(element: EventTarget | undefined): string | null {
  if (!(element instanceof HTMLElement)) return null;
  return element.getAttribute(TERM) ?? LINK.exec(element.getAttribute("href") ?? "")?.[1] ?? null;
}

class Glossary {
  private readonly heed = heeding();
  private text = h("p");
  private more = h("a", { href: "" }, "Glossary");
  private card = h("div", { class: "glossary-card", role: "tooltip", popover: "manual" }, this.text, this.more);
  private terms: Promise<Record<string, GlossaryTerm>> | null = null;
  private element: HTMLElement | null = null;
  private timer = 0;
  private listening = new AbortController();

  constructor(parent: ParentNode) {
    parent.append(this.card);
    const { signal } = this.listening;
    // Not pointerover and focusin, which a shadow root keeps to itself when they go from one of its elements to the next.
    document.addEventListener("pointermove", (event) => this.hover(event), { signal, passive: true });
    document.addEventListener("keyup", (event) => this.key(event), { signal });
    document.addEventListener("click", (event) => this.click(event), { signal, capture: true });
    document.addEventListener("scroll", () => this.hide(), { signal, capture: true, passive: true });
    this.reveal();
  }

  destroy(): void {
    this.listening.abort();
    this.hide();
    this.card.remove();
  }

  private find(event: Event): HTMLElement | undefined {
    return event.composedPath().find((node) => node !== this.more && termOf(node)) as HTMLElement | undefined;
  }

  private hover(event: PointerEvent): void {
    if (event.pointerType === "touch") return;
    const path = event.composedPath();
    const element = this.find(event);
    if (path.includes(this.card) || (element && element === this.element)) this.later(null);
    else if (element) this.later(() => this.heed(this.show(element)), DWELL_MS);
    else if (this.element && !this.timer) this.later(() => this.hide(), LEAVE_MS);
    else if (!this.element) this.later(null);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") return this.hide();
    if (event.key !== "Tab") return;
    const target = event.composedPath()[0] as HTMLElement;
    const element = termOf(target) ? target : target.querySelector?.<HTMLElement>(`:is(a, button) [${TERM}]`);
    if (element) this.heed(this.show(element));
    else if (this.element && !event.composedPath().includes(this.card)) this.hide();
  }

  private click(event: MouseEvent): void {
    const element = this.find(event);
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
    const address = link?.getAttribute("href") ?? "";
    const follows = PAGE_LINK.test(address) && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (follows) {
      event.preventDefault(); // Streamlit opens the links of a text in another tab
      event.stopPropagation();
    }
    const again = event.detail === 0 && this.element === element; // Enter on what is explained already
    if (element && !(follows && again)) this.heed(this.show(element));
    else if (follows) this.open(address);
    else if (!event.composedPath().includes(this.card)) this.hide();
  }

  /** Go to a page of the app, which needs no new load of it. */
  private open(address: string): void {
    this.hide();
    navigate(new URL(address, BASE || location.href).href);
    this.reveal();
  }

  /** On the glossary's page, scroll to the term of the address as soon as it is there. */
  private reveal(tries = 20): void {
    const name = location.hash.slice(1);
    if (!name || !location.search.includes("topic=glossary")) return;
    const place = document.getElementById(`term-${name}`);
    if (place) {
      place.scrollIntoView({ block: "center" });
      place.classList.add("found");
    } else if (tries) setTimeout(() => this.reveal(tries - 1), 150);
  }

  private async show(element: HTMLElement): Promise<void> {
    this.later(null);
    const name = termOf(element) ?? "";
    this.terms ??= fetchServer(`${ROUTES}/glossary.json`).then((answer) => answer.json() as Promise<never>);
    const terms = await this.terms.catch(() => null);
    if (!terms) this.terms = null; // the next word asks again
    const term = terms?.[name];
    if (!term || !element.isConnected) return;
    this.element = element;
    element.setAttribute("aria-description", term.text);
    this.text.replaceChildren(h("strong", null, term.title), ` ${term.text}`);
    this.more.setAttribute("href", `learn?topic=glossary#${name}`);
    this.card.showPopover();
    this.place(element);
  }

  private place(element: HTMLElement): void {
    const at = element.getBoundingClientRect();
    const { width, height } = this.card.getBoundingClientRect();
    const below = at.bottom + GAP + height < innerHeight;
    this.card.style.left = `${Math.max(GAP, Math.min(at.left, innerWidth - width - GAP))}px`;
    this.card.style.top = `${below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - height)}px`;
  }

  private later(act: (() => void) | null, wait = 0): void {
    clearTimeout(this.timer);
    this.timer = act ? window.setTimeout(() => ((this.timer = 0), act()), wait) : 0;
  }

  private hide(): void {
    this.later(null);
    this.element = null;
    if (this.card.matches(":popover-open")) this.card.hidePopover();
  }
}
