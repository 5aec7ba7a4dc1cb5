// Shows one element after the other, with driver.js. A script of its own, which the first page does without.
import { driver, type PopoverDOM } from "driver.js";
import style from "./tour.css";

/** An element with a word on it; `before` prepares the page. */
export interface Stop {
  element: () => HTMLElement | null;
  before?: () => void;
  title: string;
  text: string;
}

export type Tour = typeof tour;

const MOVE_MS = 250;

/** Take back what driver.js marks an element with, which it does not find again in a shadow root: it opens no dialog. */
function unmark(node: Element | undefined): void {
  node?.classList.remove("driver-active-element", "driver-no-interaction");
  for (const name of ["haspopup", "expanded", "controls"]) node?.removeAttribute(`aria-${name}`);
}

/** Go from stop to stop, by buttons or arrow keys; Escape ends. */
export default function tour(stops: Stop[], onEnd: () => void): void {
  const sheet = document.head.appendChild(document.createElement("style"));
  sheet.textContent = style;
  const marks = new Set<Element>();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const guide = driver({
    animate: !still,
    duration: MOVE_MS,
    smoothScroll: !still,
    stagePadding: 6,
    stageRadius: 8,
    showProgress: true,
    progressText: "{{current}} of {{total}}",
    nextBtnText: "Next",
    prevBtnText: "Back",
    doneBtnText: "Done",
    disableActiveInteraction: true,
    onPopoverRender: ({ title, footer, closeButton, nextButton }: PopoverDOM) => {
      for (const part of [title, footer]) part.setAttribute("role", "none"); // the page has a header and a footer
      closeButton.setAttribute("aria-label", "End the tour");
      setTimeout(() => nextButton.focus()); // after driver.js, which gives the focus to the first button
    },
    onDestroyed: () => {
      marks.forEach(unmark);
      watcher.disconnect();
      removeEventListener("scroll", refresh, true);
      sheet.remove();
      onEnd();
    },
    steps: stops.map(({ element, before, title, text }) => ({
      element: (() => element() ?? undefined) as () => Element, // one that is not there: its words come in the middle
      popover: { title, description: text },
      onHighlightStarted: (node) => {
        watcher.disconnect();
        if (node) {
          watcher.observe(node);
          marks.add(node);
        }
        before?.();
      },
      onHighlighted: unmark,
    })),
  });
  // What is shown may grow, and move in a part of the page that scrolls: driver.js looks at the window alone.
  const refresh = () => guide.refresh();
  const watcher = new ResizeObserver(refresh);
  addEventListener("scroll", refresh, true);
  guide.drive();
}
