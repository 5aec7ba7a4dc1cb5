// Under "View": the settings of the layout, which moves while a person drags them.
import { h } from "../../lib/dom.ts";
import type { MapData } from "../data/expandProps.ts";

export type SettingValue = number | string;

export interface SettingHooks {
  /** A person may move the layout soon. */
  ready: () => void;
  /** A setting changes; at the end of a drag once more, with `done`. */
  set: (name: string, value: SettingValue, done: boolean) => void;
}

export class LayoutSettings {
  readonly node = h("div", { class: "settings", hidden: true });
  private key = "";

  constructor(private on: SettingHooks) {
    this.node.addEventListener("pointerenter", () => this.on.ready());
    this.node.addEventListener("focusin", () => this.on.ready());
  }

  update({ settings, still }: Pick<MapData, "settings" | "still">): void {
    const key = JSON.stringify([settings, still]);
    if (key === this.key) return;
    this.key = key;
    this.node.hidden = !settings?.length && !still;
    const rows = (settings ?? []).map((one) => {
      const title = one.name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
      return h("label", { title: one.help }, h("span", null, title), ...this.control(one, title));
    });
    this.node.replaceChildren(...rows, ...(still ? [h("p", "quiet", still)] : []));
  }

  private control({ name, value, choices, minimum, maximum, step }: LayoutSetting, title: string): HTMLElement[] {
    if (choices.length) {
      const select = h("select", { "aria-label": title }, ...choices.map((choice) => h("option", null, choice)));
      select.value = String(value);
      select.addEventListener("change", () => this.on.set(name, select.value, true));
      return [select];
    }
    const slider = h("input", { type: "range", min: minimum, max: maximum, step, "aria-label": title });
    const output = h("output", null, String(value));
    slider.value = String(value);
    const set = (done: boolean) => {
      output.textContent = slider.value;
      this.on.set(name, Number(slider.value), done);
    };
    slider.addEventListener("input", () => set(false));
    slider.addEventListener("change", () => set(true));
    return [slider, output];
  }
}

type LayoutSetting = NonNullable<MapData["settings"]>[number];
