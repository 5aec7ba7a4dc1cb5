// The settings of a playground: a row of controls, kept in the address.
import { h } from "../lib/dom.ts";
import type { Strengths } from "../program/augment.ts";
import { grouped } from "../lib/format.ts";
import type { Settings } from "./contents.ts";
import { METHODS } from "./tabLayout.ts";
import type { Opened } from "./tabSource.ts";

type Losses = Opened["losses"]["objectives"];
const RATES = [0.0003, 0.001, 0.002, 0.004, 0.01, 0.03, 0.1];
const FALLS = [1, 2, 4, 8, 16];
const NUMBERS = { learning_rate: "rate", steps: "steps", seed: "seed", decay_epochs: "falls" } as const;
const KEYS = { net: "net", loss: "loss", miner: "miner", ...NUMBERS } as const;
const LIMITS = {
  learning_rate: [1e-6, 10],
  steps: [1, 10_000],
  seed: [0, 2 ** 31 - 1],
  decay_epochs: [0, 1000],
} as const;
const WORDS = {
  learning_rate: "learning rate",
  steps: "number of steps",
  seed: "seed",
  decay_epochs: "epochs to a lower rate",
} as const;

/** The settings that an address asks for, and a sentence on what of it makes no sense here. */
export function readSettings(
  query: URLSearchParams,
  opened: Opened,
): { settings: Settings; map: string; trouble: string } {
  const { data, losses } = opened;
  const trouble: string[] = [];
  const asked = (key: string) => query.get(key) ?? "";
  const pick = (what: string, wanted: string, known: string[], usual: string): string => {
    if (!wanted || known.includes(wanted)) return wanted || usual;
    trouble.push(
      `The address asks for the ${what} “${wanted.slice(0, 40)}”, which this page does not have; it takes ${usual}.`,
    );
    return usual;
  };
  const net = pick("net", asked(KEYS.net), Object.keys(data.nets), Object.keys(data.nets)[0]);
  const known = losses.objectives.map((one) => one.loss);
  const loss = pick("loss", asked(KEYS.loss), [...new Set(known)], losses.config.loss as string);
  const usual = usualOf(losses.objectives, loss);
  const miners = losses.objectives.filter((one) => one.loss === loss).map(({ miner }) => miner ?? "all");
  const miner = pick("miner", asked(KEYS.miner), miners, usual.miner ?? "all");
  const number = (name: keyof typeof LIMITS, fallback: number): number => {
    const text = asked(KEYS[name]);
    const [least, most] = LIMITS[name];
    const value = Number(text);
    if (text === "" || (value >= least && value <= most && (name === "learning_rate" || Number.isInteger(value))))
      return text === "" ? fallback : value;
    trouble.push(
      `The address asks for the ${WORDS[name]} “${text.slice(0, 40)}”, which is not from ${least} to ${grouped(most)}; this page takes ${fallback}.`,
    );
    return fallback;
  };
  const augmentations = augmentationsOf(opened);
  const set = "own" in augmentations ? "own" : "none";
  const settings = {
    net,
    loss,
    miner: miner === "all" ? null : miner,
    learning_rate: number("learning_rate", usual.update.learning_rate),
    steps: number("steps", losses.config.steps as number),
    seed: number("seed", losses.config.seed as number),
    decay_epochs: number("decay_epochs", (losses.config.decay_epochs as number | undefined) ?? 0),
    augmentation: augmentations[pick("augmentation", asked("augmentation"), Object.keys(augmentations), set)],
  };
  const map = pick("map", asked("map"), ["live", ...Object.keys(METHODS)], "live");
  return { settings, map, trouble: trouble.join(" ") };
}

/** Write the settings into the address, without touching what else it says. */
export function writeSettings(settings: Settings, dataset: string, opened: Opened): void {
  const query = new URLSearchParams(location.search);
  query.set("data", dataset);
  for (const [name, key] of Object.entries(KEYS)) query.set(key, String(settings[name as keyof typeof KEYS] ?? "all"));
  query.set("augmentation", nameOf(settings.augmentation, opened));
  history.replaceState(history.state, "", `${location.pathname}?${query}${location.hash}`);
}

/** None, what suits the images, and that of the training that this page is of, where it has one. */
function augmentationsOf({ data, losses }: Opened): Record<string, Strengths> {
  const own = losses.config.augmentation as Strengths | undefined;
  return { none: {}, usual: data.usual_augmentation ?? {}, ...(own && Object.keys(own).length ? { own } : {}) };
}

function nameOf(augmentation: Strengths, opened: Opened): string {
  const all = Object.entries(augmentationsOf(opened));
  return all.find(([, one]) => wordsOf(one) === wordsOf(augmentation))?.[0] ?? "none";
}

const wordsOf = (strengths: Strengths): string =>
  Object.entries(strengths)
    .map(([name, strength]) => `${name} ${strength}`)
    .sort()
    .join(", ");

/** A loss with the miner that its catalog recommends, or with the first that this page has. */
export function usualOf(losses: Losses, loss: string): Losses[number] {
  const own = losses.filter((one) => one.loss === loss);
  return own.find((one) => one.recommended) ?? own.find((one) => one.miner === "semihard_nearest") ?? own[0];
}

/** A menu under its name; `chosen` is called with the name of an option. */
export function selectOf(
  label: string,
  options: [string, string][],
  value: string,
  chosen: (value: string) => void,
): HTMLElement {
  const control = h(
    "select",
    { "aria-label": label },
    ...options.map(([name, title]) => h("option", { value: name }, title)),
  );
  control.value = value;
  control.addEventListener("change", () => chosen(control.value));
  return h("label", null, label, control);
}

/** The controls; `change` is called with the new settings, and with a data set where another one is chosen. */
export function settingsForm(
  opened: Opened,
  datasets: Record<string, string>,
  settings: Settings,
  change: (settings: Settings, dataset?: string) => void,
): HTMLElement {
  const { data, losses } = opened;
  const augmentations = augmentationsOf(opened);
  const titles = new Map(losses.objectives.map((one) => [one.loss, one.loss_title]));
  const miners = losses.objectives.filter((one) => one.loss === settings.loss);
  const rates = [...new Set([...RATES, settings.learning_rate])].sort((a, b) => a - b);
  return h(
    "div",
    "form",
    selectOf("Data", Object.entries(datasets), data.dataset, (name) => change(settings, name)),
    selectOf("Net", Object.entries(data.nets), settings.net, (net) => change({ ...settings, net })),
    selectOf("Loss", [...titles], settings.loss, (loss) => {
      const { miner, update } = usualOf(losses.objectives, loss);
      change({ ...settings, loss, miner, learning_rate: update.learning_rate });
    }),
    selectOf(
      "Miner",
      miners.map((one) => [one.miner ?? "all", one.miner_title]),
      settings.miner ?? "all",
      (miner) => change({ ...settings, miner: miner === "all" ? null : miner }),
    ),
    selectOf(
      "Learning rate",
      rates.map((rate) => [String(rate), String(rate)]),
      String(settings.learning_rate),
      (rate) => change({ ...settings, learning_rate: Number(rate) }),
    ),
    selectOf(
      "Steps",
      [...new Set([100, 300, 1000, 3000, settings.steps])].sort((a, b) => a - b).map((n) => [String(n), grouped(n)]),
      String(settings.steps),
      (steps) => change({ ...settings, steps: Number(steps) }),
    ),
    selectOf(
      "Rate falls",
      [...new Set([0, ...FALLS, settings.decay_epochs])]
        .sort((a, b) => a - b)
        .map((n) => [String(n), n ? `every ${n === 1 ? "epoch" : `${n} epochs`}` : "by schedule"]),
      String(settings.decay_epochs),
      (epochs) => change({ ...settings, decay_epochs: Number(epochs) }),
    ),
    selectOf(
      "Augmentation",
      Object.entries(augmentations).map(([name, one]) => [name, wordsOf(one) || "none"]),
      nameOf(settings.augmentation, opened),
      (name) => change({ ...settings, augmentation: augmentations[name] }),
    ),
  );
}
