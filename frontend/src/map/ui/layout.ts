// The map's elements, and how they lie in one another.
import type { Remedy } from "../../protocol.ts";
import { h } from "../../lib/dom.ts";
import { AlarmNote } from "./alarmNote.ts";
import { Announcer, HELP } from "./ariaLive.ts";
import { ColorControl } from "./colorControl.ts";
import { LayoutSettings, type SettingHooks } from "./layoutSettings.ts";
import { HereCard } from "./hereCard.ts";
import { Outline, type OutlineHooks } from "./outline.ts";
import { Legend, type LegendHooks } from "./legend.ts";
import { PlayerBar, type PlayerHooks } from "./playerBar.ts";
import { QualityFooter } from "./qualityFooter.ts";
import { Toolbar, type Tool } from "./toolbar.ts";
import { Tooltip } from "./tooltip.ts";
import style from "../map.css";

export class Headline {
  private parts = {
    title: h("strong"),
    step: h("span", "at"),
    scores: h("span", "scored"),
    note: h("span", "note"),
  };
  private texts: Partial<Record<keyof Headline["parts"], string>> = {};
  readonly node = h("div", "full-headline", ...Object.values(this.parts));

  constructor() {
    const follow = () =>
      this.node.isConnected ? this.draw() : document.removeEventListener("fullscreenchange", follow); // the map is gone
    document.addEventListener("fullscreenchange", follow);
  }

  update(title: string, step: string): void {
    Object.assign(this.texts, { title, step });
    this.draw();
  }

  /** Show scores, and the images that they are of. */
  score(scores: string, note: string): void {
    Object.assign(this.texts, { scores, note: scores && note });
    this.draw();
  }

  /** Elsewhere it is empty: the page says the same below the map. */
  private draw(): void {
    const full = this.node.closest(":fullscreen") !== null;
    for (const [name, part] of Object.entries(this.parts)) {
      const text = full ? (this.texts[name as keyof Headline["parts"]] ?? "") : "";
      if (part.textContent !== text) part.textContent = text;
    }
  }
}

export interface LayoutHooks extends LegendHooks, OutlineHooks, PlayerHooks, SettingHooks {
  tool: (name: Tool) => void;
  /** Color points by something else. */
  color: (name: string) => void;
  remedy: (chosen: Remedy) => void;
  /** There is more or less to show. */
  refresh: () => void;
}

export type Layout = ReturnType<typeof buildLayout>;

/** Build them for the map number `id`, mounted for the `mounts`th time; `on` hears what a person does. */
export function buildLayout(id: number, mounts: number, on: LayoutHooks) {
  const points = h("canvas", "points");
  const overlay = h("canvas", {
    class: "overlay",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "scatter map",
    "aria-describedby": `help-${id}`,
  });
  const colorControl = new ColorControl(on.color);
  const legend = new Legend(on, colorControl.scale);
  const outline = new Outline(on);
  const settings = new LayoutSettings({ ready: on.ready, set: on.set });
  const toolbar = new Toolbar(on.tool, settings.node, colorControl.menu);
  const tooltip = new Tooltip();
  const hereCard = new HereCard();
  const bar = new PlayerBar(on);
  const footer = new QualityFooter(on.refresh);
  const announcer = new Announcer();
  const alarm = new AlarmNote(on.remedy);
  const caption = h("div", "caption");
  const status = h("div", "status");
  const notices = h("div", { class: "notices", role: "status" });
  const headline = new Headline();
  const moment = h("div", "moment");
  const title = h("div", "small-title");
  const strip = h("div", "strip", moment, caption, toolbar.choices);
  const stage = h(
    "div",
    "stage",
    points,
    overlay,
    legend.node,
    outline.node,
    toolbar.node,
    strip,
    title,
    status,
    notices,
    alarm.node,
    tooltip.node,
    hereCard.node,
  );
  const help = h("div", { class: "spoken", id: `help-${id}` }, HELP);
  const root = h(
    "div",
    { class: "map", "data-ready": "false", "data-mounts": mounts },
    h("div", "sheet", headline.node, stage, bar.node, footer.node),
    announcer.node,
    help,
  );
  const sheet = h("style", null, style);
  return {
    root,
    stage,
    points,
    overlay,
    legend,
    outline,
    toolbar,
    colorControl,
    settings,
    tooltip,
    hereCard,
    bar,
    footer,
    announcer,
    alarm,
    caption,
    moment,
    title,
    strip,
    status,
    notices,
    headline,
    sheet,
  };
}
