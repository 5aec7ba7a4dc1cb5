// Help in the row of the pages; on a phone also the bar at the bottom, with what a hand needs first.
import { bus } from "../lib/bus.ts";
import { h, icon } from "../lib/dom.ts";
import { type ComponentArguments, mount } from "../lib/mount.ts";
import type { HelpProps } from "../protocol.ts";
import style from "./help.css";
import { change, current, follow, openSettings, take } from "./steps.ts";

/** The keys of a map, in the order in which Help lists them; map/control/keys.ts says what each does. */
export const KEYS: [keys: string, does: string][] = [
  ["Space", "play or pause"],
  [", and .", "one frame back or on"],
  ["Arrow keys", "from point to point"],
  ["+, − and Home", "zoom, fit the map"],
  ["V, L and B", "move, lasso, box"],
  ["Q", "ask what lies where you click"],
  ["X", "show the selection alone"],
  ["A and W", "project it alone, or all again"],
  ["N, T, D, P, M and I", "names, trails, contours, thumbnails, markers, training set"],
  ["O", "outline of the map"],
  ["F", "full screen, with title, step and score"],
  ["G", "the same, larger: for a projector"],
  ["Ctrl+Z and Ctrl+Y", "undo, redo"],
  ["Esc", "clear pin and selection"],
];

const ICONS = {
  train: "M4.5 2.6v10.8L13.2 8Z",
  ask: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9ZM10.3 10.3 14 14",
  draw: "M2.5 13.5 3.3 10.4 11 2.7l2.3 2.3-7.7 7.7ZM9.4 4.3l2.3 2.3",
  settings: "M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 3v3M5.5 10v3",
};

export default function ({ parentElement }: ComponentArguments<HelpProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new Help(parent),
    (help) => help.update(),
  );
}

const OPENS_SETTINGS = ".st-key-open-settings button"; // of Python

class Help {
  private bar = h(
    "div",
    { class: "phone-bar", role: "group", "aria-label": "First things to do" },
    barButton("train", "Train", "Train with these settings", () => take("train")),
    barButton("ask", "Ask", "Ask about an example", () => take("ask")),
    barButton("draw", "Draw", "Draw one of your own", () => take("draw")),
    barButton("settings", "Settings", "Settings of the training", openSettings),
  );
  private items = {
    band: this.item("Introduction", () => change({ wanted: "band" })),
    tour: this.item("Guided tour", () => change({ wanted: "tour" })),
    outline: this.item("Outline of the map", () => bus.emit("open-outline", null)),
  };
  private menu = h("div", { class: "menu", popover: "auto" }, ...Object.values(this.items));
  private keys = h(
    "details",
    "keys",
    h("summary", null, "Keys"),
    h("dl", null, ...KEYS.flatMap(([keys, does]) => [h("dt", null, keys), h("dd", null, does)])),
  );
  private button = h("button", { class: "help", "aria-haspopup": "true" }, "Help");
  private root = h("div", "help-root", this.bar, this.button, this.menu);
  private unfollow = follow(() => this.update());

  constructor(parent: ParentNode) {
    parent.append(this.root);
    useWholeScreen();
    this.button.popoverTargetElement = this.menu;
    document.addEventListener("click", ({ target }) => (target as Element).closest?.(OPENS_SETTINGS) && openSettings());
    this.menu.append(this.keys);
    this.menu.addEventListener("beforetoggle", () => this.update());
  }

  /** Offer what can be done on this page. */
  update(): void {
    const { steps } = current();
    const { left, bottom } = this.button.getBoundingClientRect();
    this.menu.style.top = `${bottom + 4}px`;
    this.menu.style.left = `${Math.max(8, Math.min(left, innerWidth - 230))}px`;
    this.bar.hidden = !steps;
    for (const step of ["train", "draw"] as const)
      this.bar.querySelector(`[data-bar=${step}]`)?.toggleAttribute("hidden", !steps?.[`${step}s`]);
    for (const item of Object.values(this.items)) item.hidden = !steps && !exploreLink();
  }

  private item(words: string, act: () => void): HTMLButtonElement {
    const click = () => {
      this.menu.hidePopover();
      if (!current().steps) exploreLink()?.click();
      act();
    };
    return h("button", { click }, words);
  }

  destroy(): void {
    this.unfollow();
    this.root.remove();
  }
}

const barButton = (name: keyof typeof ICONS, words: string, label: string, click: () => void) =>
  h("button", { "data-bar": name, "aria-label": label, click }, icon(ICONS[name]), words);

/** Let the page reach below a phone's rounded edges, so that the style sheets hear how wide they are. */
function useWholeScreen(): void {
  const viewport = document.querySelector<HTMLMetaElement>("meta[name=viewport]");
  if (viewport && !viewport.content.includes("viewport-fit")) viewport.content += ", viewport-fit=cover";
}

/** The link to Explore, from another page. */
const exploreLink = (): HTMLElement | null =>
  document.querySelector(".without-sidebar") &&
  document.querySelector<HTMLElement>(".st-key-page-links [data-testid=stPageLink-NavLink]");
