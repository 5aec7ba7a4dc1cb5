// The worker of a playground: it trains, and tells the page what happens.
import type { RunEvent } from "../protocol.ts";
import { packedOcclusion } from "../standalone/occlusion.ts";
import { unpack } from "../standalone/unpack.ts";
import type { DatasetContents, LossContents, Objective, Settings } from "./contents.ts";
import { sentenceOf } from "../program/format.ts";
import { Memory } from "../program/program.ts";
import { followed, LiveLayout, type LayoutSettings } from "../projection/live.ts";
import { randomNumbers } from "../lib/random.ts";
import { Session, type News } from "./session.ts";
import type { WeightArrays } from "./keep.ts";

/** What the page asks for. */
export type Order =
  | { do: "open"; data: string; losses: string }
  | { do: "prepare"; run: string; settings: Settings }
  | { do: "train"; settings: Settings }
  | { do: "change"; settings: Settings }
  | { do: "stop" }
  | { do: "ask"; id: number; image: Uint8Array; k: number }
  | { do: "parts"; id: number; pair: Uint8Array[] }
  | { do: "keep"; id: number }
  | {
      do: "lay out";
      rows: Float32Array;
      d: number;
      settings: LayoutSettings;
      isLast: boolean;
      from: Float32Array | null;
    };

/** A layout (n × 2), and how many of 10 neighbors it keeps. */
export interface LaidOut {
  positions: Float32Array<ArrayBuffer>;
  kept: number;
}

/** What the worker tells. */
export type Word =
  | ({ says: "news"; run: string; ended: boolean } & News)
  | {
      says: "opened";
      simd: boolean;
      data: Omit<DatasetContents, "nets" | "pixels"> & { nets: Record<string, string> };
      losses: Pick<LossContents, "config"> & { objectives: Omit<Objective, "program">[] };
    }
  | { says: "trouble"; sentence: string }
  | { says: "answer"; id: number; answer: unknown }
  | ({ says: "laid out" } & LaidOut);

const tell = (word: Word): void => postMessage(word);
let data: DatasetContents;
let losses: LossContents | undefined;
let session: Session | null = null;
let run = "";
let training = false;
let unsent: RunEvent[] = [];
let layout: LiveLayout | null = null; // of a worker that draws maps and trains no net

const objectiveOf = ({ loss, miner }: Settings): Objective => {
  const found = losses?.objectives.find((one) => one.loss === loss && one.miner === miner);
  if (!found) throw new Error(`This page has no program for ${loss}${miner ? ` with ${miner}` : ""}: choose another.`);
  return found;
};

function send(news: News): void {
  tell({ says: "news", run, ended: session?.ended ?? true, ...news, events: [...unsent, ...news.events] });
  unsent = [];
}

// Between two steps the worker hears what the page wants; a timer would wait for milliseconds, and longer in the background.
const turn = new MessageChannel();
turn.port1.onmessage = () =>
  guarded(() => {
    if (!session || session.ended || !training) return;
    const news = session.step();
    if (news.embeddings || session.ended) send(news);
    else for (const event of news.events) unsent.push(event); // the page has less to do where several come at once
    turn.port2.postMessage(null);
  });

const ORDERS: { [Name in Order["do"]]: (order: Extract<Order, { do: Name }>) => void | Promise<void> } = {
  async open({ data: file, losses: others }) {
    data = await unpack<DatasetContents>(file);
    losses ??= await unpack<LossContents>(others);
    if (Object.keys(losses.nets).length) data = { ...data, nets: losses.nets };
    const { nets: packed, pixels: _pixels, ...known } = data;
    const nets = Object.fromEntries(Object.entries(packed).map(([name, { title }]) => [name, title]));
    const objectives = losses.objectives.map(({ program: _, ...rest }) => rest);
    tell({
      says: "opened",
      simd: new Memory([]).simd !== null,
      data: { ...known, nets },
      losses: { config: losses.config, objectives },
    });
  },
  prepare({ run: name, settings }) {
    [training, unsent] = [false, []];
    session = new Session(data, settings, objectiveOf(settings));
    run = name;
    send(session.begin());
  },
  train({ settings }) {
    if (training || !session || session.ended) return;
    session.change(settings, objectiveOf(settings));
    training = true;
    turn.port2.postMessage(null);
  },
  change({ settings }) {
    if (!session || session.ended) return;
    session.change(settings, objectiveOf(settings));
  },
  stop() {
    if (session && !session.ended) send(session.end("stopped by hand"));
  },
  ask({ id, image, k }) {
    tell({ says: "answer", id, answer: session?.ask(image, k) ?? null });
  },
  parts({ id, pair }) {
    const net = session?.training;
    const answer = net ? packedOcclusion((images) => net.embed(images), pair, data.size, net.curvature) : null;
    tell({ says: "answer", id, answer });
  },
  "lay out"({ rows, d, settings, isLast, from }) {
    layout ??= new LiveLayout(settings, randomNumbers(1));
    if (from?.length) {
      layout.take(rows, d);
      layout.place(from);
      layout.change({});
    }
    tell({ says: "laid out", ...followed(layout, rows, d, isLast) });
  },
  keep({ id }) {
    const weights: WeightArrays | null = session && {
      net: session.training.netWeights,
      loss: session.training.lossWeights,
    };
    tell({ says: "answer", id, answer: session && { weights, snapshots: session.snapshots, basis: session.basis } });
  },
};

async function guarded(act: () => void | Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    session = null;
    tell({ says: "trouble", sentence: sentenceOf(error) });
  }
}

onmessage = ({ data: order }: MessageEvent<Order>) => void guarded(() => ORDERS[order.do](order as never));
