// The band above the map of Explore on a first visit: a sentence, three things to do, and a tour.
import { h } from "../lib/dom.ts";
import { type ComponentArguments, mount } from "../lib/mount.ts";
import type { WelcomeProps } from "../protocol.ts";
import { change, current, endFirstVisit, find, follow, isFirstVisit, type Step, take } from "./steps.ts";
import type { Stop, Tour } from "./tour.ts";
import style from "./welcome.css";

const SENTENCE = [
  "A small neural network learns to put similar pictures close together.",
  "Watch it, ask it, draw for it.",
];
const VECTORS = ["Points that lie close together have similar vectors.", "Click one to see its neighbors."];
const STEPS: Record<Step, [title: string, words: string]> = {
  train: ["Train", "watch it learn"],
  ask: ["Ask", "click a point"],
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
    h("button", { class: "close", "aria-label": "Close the introduction", click: () => this.close() }, "×"),
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
            { "data-step": step, click: () => take(step as Step) },
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

declare const TOUR_SCRIPT: string; // the file's name, which build.mjs knows

const STOPS: (Omit<Stop, "element"> & { at: string[] })[] = [
  {
    at: [".map"],
    title: "The map",
    text: "Each point is a picture. Close together means that the network finds two pictures similar. Colors are their true classes, which you can check in the legend.",
  },
  {
    at: [".map .player"],
    title: "The training, again",
    text: "Play shows how the map formed, from the first step to the last. Drag to go to any step.",
  },
  {
    at: [".st-key-train", ".st-key-train-top", "[data-bar=train]"],
    title: "Train",
    text: "Starts a training of your own, with the settings that you choose. The map moves while the network learns.",
  },
  {
    at: [".inspector"],
    before: () => take("ask"),
    title: "Ask",
    text: "Click any point. You see its picture, and the pictures that the network finds most similar. This is an example.",
  },
  {
    at: [".inspector"],
    before: () => take("draw"),
    title: "Draw",
    text: "Draw with mouse, pen or finger, and the network finds the pictures that are most like yours.",
  },
  {
    at: [".scores"],
    title: "How good is it?",
    text: "These scores are measured on test images, which the network never trained with. Learn explains each of them; Help starts this tour again.",
  },
];

/** Guide through the page; the focus returns to where it was. */
export async function startTour(): Promise<void> {
  let { activeElement: origin } = document;
  while (origin?.shadowRoot?.activeElement) origin = origin.shadowRoot.activeElement;
  const { default: tour } = (await import(new URL(TOUR_SCRIPT, import.meta.url).href)) as { default: Tour };
  const stops = STOPS.map(({ at, ...stop }) => ({ ...stop, element: () => find(at) }));
  tour(stops, () => (origin as HTMLElement | null)?.focus({ preventScroll: true }));
}
