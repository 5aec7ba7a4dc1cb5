// @ts-nocheck
// The map's elements, and how they lie in one another.
import { AlarmNote } from "./alarmNote.ts";
import { Announcer, HELP } from "./ariaLive.ts";
import { Card } from "./tooltip.ts";
import { Colouring } from "./colorControl.ts";
import { element } from "../../lib/dom.ts";
import { Foot } from "./qualityFooter.ts";
import { Legend } from "./legend.ts";
import { PlayerBar } from "./playerBar.ts";
import { Toolbar } from "./toolbar.ts";
import css from "../map.css";

/** Build them for the map number `id`, mounted for the `mounts`th time; `on` hears legend, toolbar and player. */
export function buildElements(id, mounts, on) {
  const points = element("canvas", { class: "points" });
  const overlay = element("canvas", {
    class: "overlay",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "scatter map",
    "aria-describedby": `help-${id}`,
  });
  const colouring = new Colouring(on.colour);
  const [legend, toolbar, card, bar] = [new Legend(on), new Toolbar(on, colouring.menu), new Card(), new PlayerBar(on)];
  const [foot, announcer] = [new Foot(on.changed), new Announcer()];
  const alarm = new AlarmNote(on);
  const caption = element("div", { class: "caption" });
  const status = element("div", { class: "status" });
  const stage = element(
    "div", { class: "stage" },
    points, overlay, legend.node, toolbar.node, caption, status, colouring.scale, alarm.node, card.node,
  );
  const help = element("div", { class: "spoken", id: `help-${id}` }, HELP);
  const root = element(
    "div",
    { class: "map", "data-ready": "false", "data-mounts": mounts },
    stage, bar.node, foot.node, announcer.node, help,
  );
  const style = element("style", {}, css);
  return {
    root, stage, points, overlay, legend, toolbar, colouring, card, bar, foot, announcer, alarm, caption, status, style,
  };
}
