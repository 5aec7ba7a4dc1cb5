// The band above the map of Explore on a first visit: a sentence, three things to do, and a tour.
import type { WelcomeProps } from "../protocol.ts";
import { h } from "../lib/dom.ts";
import { mount, type ComponentArguments } from "../lib/mount.ts";
import { startTour } from "./stops.ts";
import { change, current, endFirstVisit, follow, isFirstVisit, take, type Step } from "./steps.ts";
import style from "./welcome.css";

const SENTENCE = [
  "A small neural network learns to put similar pictures close together.",
  "Watch it, ask it, draw for it.",
];
const VECTORS = ["Points that lie close together have similar vectors.", "Click one to see its neighbors."];
const STEPS: Record<Step, [title: string, words: string]> = {
  train: ["Train", "watch it learn"],
  ask: ["Ask", "click an image"],
  draw: ["Draw", "find what is alike"],
};
const TRAIN = ".st-key-train, .st-key-train-top"; // the buttons
const GAP_PX = 14; // between the band and the map

export default function ({ parentElement, data }: ComponentArguments<WelcomeProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new Welcome(parent as ShadowRoot),
    (welcome) => welcome.update(data),
  );
}

class Welcome {
  private sentence = h("p");
  private steps = h("span", "steps");
  private band = h(
    "section",
    { class: "welcome", "aria-label": "Introduction", tabindex: "-1" },
    this.sentence,
    this.steps,
    h("button", { class: "link", click: () => void startTour() }, "Guided tour"),
    h(
      "button",
      { type: "button", class: "close", "aria-label": "Close the introduction", click: () => this.close() },
      "×",
    ),
  );
  private watcher = new ResizeObserver(() => this.makeRoom());
  private open = isFirstVisit();
  private unfollow = follow(() => this.obey());

  constructor(private parent: ShadowRoot) {
    parent.append(this.band);
    this.watcher.observe(this.band);
    document.addEventListener("click", this.onClick);
  }

  // Whoever trains needs no introduction, and its room.
  private onClick = ({ target }: Event) => target instanceof Element && target.closest(TRAIN) && this.close();

  update(steps: WelcomeProps): void {
    const [sentence, invitation] = steps.vectors ? VECTORS : SENTENCE;
    this.sentence.replaceChildren(sentence, h("span", null, ` ${invitation}`));
    this.steps.replaceChildren(
      ...Object.entries(STEPS)
        .filter(([step]) => steps[`${step}s` as keyof WelcomeProps] !== false)
        .map(([step, [title, words]]) =>
          h(
            "button",
            { type: "button", "data-step": step, click: () => take(step as Step) },
            h("strong", null, title),
            h("span", null, ` ${words}`),
          ),
        ),
    );
    this.show(this.open);
    change({ steps });
  }

  /** Do what *Help* asks for, also where it asked on another page. */
  private obey(): void {
    const { wanted, steps } = current();
    if (!wanted || !steps) return;
    change({ wanted: null });
    if (wanted === "tour") return void startTour();
    this.show(true);
    this.band.focus();
  }

  private close(): void {
    endFirstVisit();
    this.show(false);
  }

  private show(open: boolean): void {
    this.open = open;
    (this.parent.host as HTMLElement).hidden = !open;
    this.makeRoom();
  }

  // The map is so much lower: all else stays where it is.
  private makeRoom(): void {
    const height = this.open ? this.band.offsetHeight + GAP_PX : 0;
    this.parent.host.parentElement?.style.setProperty("--above-map", `${height}px`);
  }

  destroy(): void {
    this.watcher.disconnect();
    document.removeEventListener("click", this.onClick);
    this.unfollow();
    change({ steps: null });
    this.band.remove();
  }
}
