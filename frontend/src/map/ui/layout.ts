// The map's elements, and how they lie in one another.
import type { Remedy } from "../../protocol.ts";
import { h } from "../../lib/dom.ts";
import { AlarmNote } from "./alarmNote.ts";
import { HereCard, Tooltip } from "./cards.ts";
import { ColorControl } from "./colorControl.ts";
import { LayoutSettings, type SettingHooks } from "./layoutSettings.ts";
import { Outline, type OutlineHooks } from "./outline.ts";
import { Legend, type LegendHooks } from "./legend.ts";
import { PlayerBar, type PlayerHooks } from "./playerBar.ts";
import { QualityFooter } from "./qualityFooter.ts";
import { Toolbar, type Tool } from "./toolbar.ts";
import { Announcer, HELP } from "./words.ts";
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
  const colorControl = new ColorControl(on.color);
  const settings = new LayoutSettings(on);
  const layout = {
    ground: h("canvas", "ground"),
    points: h("canvas", "points"),
    overlay: h("canvas", {
      class: "overlay",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "scatter map",
      "aria-describedby": `help-${id}`,
    }),
    colorControl,
    settings,
    legend: new Legend(on, colorControl.scale),
    outline: new Outline(on),
    toolbar: new Toolbar(on.tool, settings.node, colorControl.menu),
    tooltip: new Tooltip(),
    hereCard: new HereCard(),
    bar: new PlayerBar(on),
    footer: new QualityFooter(on.refresh),
    announcer: new Announcer(),
    alarm: new AlarmNote(on.remedy),
    caption: h("div", "caption"),
    status: h("div", "status"),
    notices: h("div", { class: "notices", role: "status" }),
    headline: new Headline(),
    moment: h("div", "moment"),
    title: h("div", "small-title"),
    sheet: h("style", null, style),
  };
  const { legend, outline, toolbar, tooltip, hereCard, alarm } = layout;
  const strip = h("div", "strip", layout.moment, layout.caption, toolbar.choices);
  const above = [legend.node, outline.node, toolbar.node, strip, layout.title, layout.status, layout.notices];
  const below = [layout.ground, layout.points];
  const stage = h("div", "stage", ...below, layout.overlay, ...above, alarm.node, tooltip.node, hereCard.node);
  const root = h(
    "div",
    { class: "map", "data-ready": "false", "data-mounts": mounts },
    h("div", "sheet", layout.headline.node, stage, layout.bar.node, layout.footer.node),
    layout.announcer.node,
    h("div", { class: "spoken", id: `help-${id}` }, HELP),
  );
  return { ...layout, root, stage, strip };
}
