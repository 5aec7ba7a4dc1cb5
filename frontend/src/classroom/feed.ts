// A page's one stream of its class, and what is said back: where this page is, what was pressed.
import { createStreams } from "../lib/eventStream.ts";
import { fetchServer } from "../lib/server.ts";
import { onWake } from "../lib/wake.ts";
import type { ClassroomEvent } from "../protocol.ts";

export type Listener = (event: ClassroomEvent | "ended") => void;

/** The buttons of a person. */
export type Action =
  | { what: "task"; lesson: string | null; task: number; dataset?: string }
  | { what: "lead" | "follow"; on: boolean }
  | { what: "remove"; student: string; on: boolean }
  | { what: "reveal" | "show" | "end" | "leave" };

const streams = createStreams();
if (globalThis.document) onWake(() => streams.reconnect());
const last = new Map<string, ClassroomEvent>();
const listeners = new Map<string, Set<Listener>>();
const LINGER_MS = 3000; // the line is made anew on another page: the stream waits for it

/** Call `listener` with the state of a class, now and after each change; returns a cleanup function. */
export function followClassroom({ code, url }: { code: string; url: string }, listener: Listener): () => void {
  const members = listeners.get(code) ?? new Set();
  if (!listeners.has(code)) {
    listeners.set(code, members);
    streams.subscribe(code, (event) => {
      if (event.event === "classroom") last.set(code, event);
      if (event.event === "classroom") for (const each of [...members]) each(event);
      if (event.event === "end") for (const each of [...members]) each("ended");
    });
  }
  members.add(listener);
  streams.open({ run: code, events_url: `${url}/events` });
  const newest = last.get(code);
  if (newest) listener(newest);
  return () => {
    members.delete(listener);
    setTimeout(() => members.size || streams.close(code), LINGER_MS);
  };
}

/** Say something to the server; what it refuses comes back as an error with its sentence. */
export async function tell(url: string, body: unknown): Promise<void> {
  const answer = await fetchServer(url, { method: "POST", body: JSON.stringify(body) });
  if (answer.ok) return;
  const json = (await answer.json().catch(() => null)) as { error?: string } | null;
  throw new Error(json?.error ?? `The server answered ${answer.status}.`);
}

/** Do what was pressed. */
export const act = (url: string, action: Action): Promise<void> => tell(`${url}/action`, action);
