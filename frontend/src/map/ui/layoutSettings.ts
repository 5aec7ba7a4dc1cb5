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

const KEYS_REST_MS = 600;

export class LayoutSettings {
  readonly node = h("div", { class: "settings", hidden: true });
  private shape = "";
  private shown = new Map<string, (value: SettingValue) => void>();

  constructor(private on: SettingHooks) {
    this.node.addEventListener("pointerenter", () => this.on.ready());
    this.node.addEventListener("focusin", () => this.on.ready());
  }

  update({ settings, still }: Pick<MapData, "settings" | "still">): void {
    const shape = JSON.stringify([(settings ?? []).map((one) => ({ ...one, value: null })), still]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.shown.clear();
      this.node.hidden = !settings?.length && !still;
      const rows = (settings ?? []).map((one) => {
        const title = one.name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
        return h("label", { title: one.help }, h("span", null, title), ...this.control(one, title));
      });
      this.node.replaceChildren(...rows, ...(still ? [h("p", "quiet", still)] : []));
    }
    for (const { name, value } of settings ?? []) this.shown.get(name)?.(value);
  }

  private control({ name, choices, minimum, maximum, step }: LayoutSetting, title: string): HTMLElement[] {
    if (choices.length) {
      const select = h("select", { "aria-label": title }, ...choices.map((choice) => h("option", null, choice)));
      this.shown.set(name, (value) => (select.value = String(value)));
      select.addEventListener("change", () => this.on.set(name, select.value, true));
      return [select];
    }
    const slider = h("input", { type: "range", min: minimum, max: maximum, step, "aria-label": title });
    const output = h("output", null);
    let [isHeld, rest] = [false, 0]; // by the pointer; the timer that ends a move by keys
    let drawn: SettingValue | null = null; // as the server says
    let asked: SettingValue[] = []; // of it, that it has not drawn yet
    const set = (done: boolean) => {
      output.textContent = slider.value;
      clearTimeout(rest);
      rest = done ? 0 : window.setTimeout(() => !isHeld && set(true), KEYS_REST_MS);
      if (done) asked.push(Number(slider.value));
      this.on.set(name, Number(slider.value), done);
    };
    this.shown.set(name, (value) => {
      if (value === drawn) return;
      drawn = value;
      asked = asked.includes(value) ? asked.slice(asked.indexOf(value) + 1) : [];
      if (!isHeld && !rest && !asked.length) [slider.value, output.textContent] = [String(value), String(value)];
    });
    slider.addEventListener("pointerdown", () => (isHeld = true));
    slider.addEventListener("input", () => set(false));
    slider.addEventListener("change", () => {
      if (isHeld) set(true); // keys say so at each step
      isHeld = false;
    });
    slider.addEventListener("blur", () => rest && set(true));
    return [slider, output];
  }
}

type LayoutSetting = NonNullable<MapData["settings"]>[number];
