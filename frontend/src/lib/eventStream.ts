// A run's events, once per page: one EventSource a run, or one of all where they are many, shared by all components.
import type { ClassroomEvent, RunEvent } from "../protocol.ts";
import { bytesOf, type Bytes } from "./base64.ts";
import { guarded } from "./boundary.ts";
import { ROUTES, serverUrl } from "./server.ts";
import { onWake } from "./wake.ts";

/** The connection was lost or is back: that does not come from the server. */
export type StreamEvent = RunEvent | ClassroomEvent | { event: "connection"; state: "open" | "retrying" };

/** A run, or with `pid` one of its projections. */
export interface StreamName {
  run: string;
  pid?: string | null;
}

interface Channel {
  /** The run, and behind a slash the projection. */
  key: string;
  url: string | null;
  events: StreamEvent[];
  last: number;
  listeners: Set<(event: StreamEvent) => void>;
  source: EventSource | null;
  /** The number of the question; 0 if there is none. */
  wanted: number;
  ended: boolean;
  resting: boolean;
  begun: string | null;
  delay: number;
}

// Events without a line number of their own: never counted, never dropped as a repetition.
const NON_REPLAYED = new Set<StreamEvent["event"]>(["queue", "machine", "end", "connection", "begun", "classroom"]);
const MAX_CHANNELS = 12;
// A browser gives a host six connections; a run that is over and a projection under way may both be followed.
const MAX_OPEN = 2;
const FIRST_RETRY = 500;
const LAST_RETRY = 1000; // who comes back wants to be there at once; a proxy bears one question a second and page

/** Build the page's streams; the arguments stand in for the browser's own in tests. */
export function createStreams({
  EventSource = globalThis.EventSource,
  setTimeout = globalThis.setTimeout as (act: () => void, wait: number) => unknown,
} = {}) {
  const channels = new Map<string, Channel>();
  const fed = new Map<string, ArrayBuffer>();
  let requests = 0;
  /** More channels than may be open each, on one connection. */
  let bundle: { members: Channel[]; source: EventSource } | null = null;

  const keyOf = (run: string, pid: string | null | undefined) => (pid ? `${run}/${pid}` : run);

  function channelOf(run: string, pid: string | null): Channel {
    const key = keyOf(run, pid);
    let channel = channels.get(key);
    if (!channel) {
      channel = {
        key,
        url: null,
        events: [],
        last: -Infinity,
        listeners: new Set(),
        source: null,
        wanted: 0,
        ended: false,
        resting: false,
        begun: null,
        delay: FIRST_RETRY,
      };
      channels.set(key, channel);
      forgetOld();
    }
    return channel;
  }

  function forgetOld() {
    for (const [key, channel] of channels) {
      if (channels.size <= MAX_CHANNELS) return;
      if (!channel.listeners.size && !channel.source) channels.delete(key);
    }
  }

  function deliver(channel: Channel, event: StreamEvent): void {
    if (!NON_REPLAYED.has(event.event) || event.event === "end") channel.events.push(event);
    for (const listener of [...channel.listeners]) listener(event);
  }

  function receive(channel: Channel, message: MessageEvent<string>): void {
    let event: RunEvent | ClassroomEvent;
    try {
      event = JSON.parse(message.data) as RunEvent | ClassroomEvent;
    } catch {
      return; // a line cut short by a proxy comes again after the reconnect
    }
    channel.delay = FIRST_RETRY;
    if (event.event === "end") {
      close(channel);
      if (!channel.ended) {
        channel.ended = true;
        deliver(channel, event);
      }
      turn();
      return;
    }
    if (event.event === "begun") Object.assign(channel, { events: [], last: -Infinity });
    if (!NON_REPLAYED.has(event.event)) {
      // lastEventId is sticky: an event without an id repeats the one before it.
      const line = message.lastEventId === "" ? NaN : Number(message.lastEventId);
      if (line <= channel.last) return;
      if (!Number.isNaN(line)) channel.last = line;
    }
    deliver(channel, event);
  }

  function close(channel: Channel): void {
    channel.source?.close();
    channel.source = null;
  }

  // More than may be open each share one connection, until all of them are over.
  function turn() {
    const next = [...channels.values()].filter((channel) => channel.wanted && !channel.ended);
    if (bundle && next.length && next.every((channel) => bundle?.members.includes(channel))) return;
    unbundle();
    const isMany = next.length > MAX_OPEN;
    for (const channel of channels.values()) if (isMany || !next.includes(channel)) close(channel);
    if (isMany) return connectAll(next);
    for (const channel of next) if (!channel.source && !channel.resting && EventSource) connect(channel);
  }

  function unbundle(): void {
    bundle?.source.close();
    bundle = null;
  }

  function connectAll(members: Channel[]): void {
    if (!EventSource || members.some(({ resting }) => resting)) return; // after which there is another turn
    const asked = members.map(({ key, last }) => `of=${key}&after=${Number.isFinite(last) ? last : ""}`);
    const source = new EventSource(serverUrl(`${ROUTES}/events?${asked.join("&")}`));
    bundle = { members, source };
    members.forEach((channel, i) =>
      source.addEventListener(
        String(i),
        (message: MessageEvent<string>) => channel.wanted && receive(channel, message),
      ),
    );
    source.onopen = () => members.forEach((channel) => deliver(channel, { event: "connection", state: "open" }));
    source.onerror = () => {
      if (bundle?.source !== source) return;
      unbundle();
      for (const channel of members) deliver(channel, { event: "connection", state: "retrying" });
      rest(members[0]);
    };
  }

  /** Connect again, after a while. */
  function rest(channel: Channel): void {
    channel.resting = true;
    setTimeout(() => {
      channel.resting = false;
      turn();
    }, channel.delay);
    channel.delay = Math.min(LAST_RETRY, channel.delay * 2);
  }

  function connect(channel: Channel): void {
    const after = Number.isFinite(channel.last) ? channel.last : null;
    const base = channel.url ?? "";
    const url = after === null ? base : `${base}${base.includes("?") ? "&" : "?"}after=${after}`;
    const source = new EventSource(serverUrl(url));
    channel.source = source;
    source.onmessage = (message: MessageEvent<string>) => receive(channel, message);
    source.onopen = () => deliver(channel, { event: "connection", state: "open" });
    source.onerror = () => {
      if (channel.source !== source) return;
      deliver(channel, { event: "connection", state: "retrying" });
      if (source.readyState !== 2) return; // the browser reconnects by itself, with the last id
      channel.source = null;
      rest(channel);
    };
  }

  return {
    /**
     * Set the time at which the run began. A new time means that the run is trained again: its events are dropped, and
     * the listeners get "begun". Any component may call this.
     */
    renew({ run, pid = null, begun = null }: StreamName & { begun?: string | null }): void {
      const channel = channelOf(run, pid);
      if (begun === null || channel.begun === begun) return;
      const again = channel.begun !== null;
      channel.begun = begun;
      if (!again) return;
      close(channel);
      unbundle();
      Object.assign(channel, { events: [], last: -Infinity, wanted: 0, ended: false });
      deliver(channel, { event: "begun" });
      turn();
    },

    /** Follow a run's events (or, with pid, a projection's) from `events_url`. Asking again changes nothing. */
    open({ run, pid = null, events_url }: StreamName & { events_url: string }): void {
      const channel = channelOf(run, pid);
      channel.url = events_url;
      if (channel.ended || channel.wanted) return;
      channel.wanted = ++requests;
      turn();
    },

    /** Call `listener(event)` for everything known so far and for all that comes; returns a cleanup function. */
    subscribe(run: string, listener: (event: StreamEvent) => void, pid: string | null = null): () => void {
      const channel = channelOf(run, pid);
      const own = guarded(listener);
      for (const event of [...channel.events]) own(event);
      channel.listeners.add(own);
      return () => void channel.listeners.delete(own);
    },

    /** Stop following a run, for instance because its page was left. */
    close(run: string, pid: string | null = null): void {
      const channel = channels.get(keyOf(run, pid));
      if (!channel) return;
      channel.wanted = 0;
      close(channel);
      turn();
    },

    /**
     * Take a whole record that lies in the page itself, once; or, with `from`, lines of one that grows, from that number
     * on, until "end". Lines that are known already are left out. `frames` maps hashes to bytes, or to base64.
     */
    feed({
      run,
      pid = null,
      events,
      frames,
      from,
    }: StreamName & { events: RunEvent[]; frames: Record<string, string | Bytes>; from?: number }): void {
      for (const [id, content] of Object.entries(frames)) if (!fed.has(id)) fed.set(id, bytesOf(content).buffer);
      const channel = channelOf(run, pid);
      for (const [i, event] of events.entries()) {
        const line = (from ?? 0) + i;
        if (channel.ended || (event.event !== "end" && line <= channel.last)) continue;
        if (event.event === "end") channel.ended = true;
        else channel.last = line;
        deliver(channel, event);
      }
      channel.ended ||= from === undefined;
    },

    /** Connect anew at once, and go on after the last line: a connection may be dead without a word. */
    reconnect(): void {
      for (const channel of channels.values()) {
        close(channel);
        channel.resting = false;
        channel.delay = FIRST_RETRY;
      }
      unbundle();
      turn();
    },

    /** The bytes of a frame that `feed` brought, or undefined. */
    frame: (id: string): ArrayBuffer | undefined => fed.get(id),
  };
}

/** The page's one set of streams. */
export const stream = createStreams();
if (globalThis.document) onWake(() => stream.reconnect());
