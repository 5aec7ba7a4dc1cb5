// Says where this page is, and takes it where the teacher leads.
import { heeding } from "../lib/boundary.ts";
import { bus } from "../lib/bus.ts";
import { createStreams } from "../lib/eventStream.ts";
import { navigate, onAddressChange, type Query } from "../lib/router.ts";
import { fetchAnswer } from "../lib/server.ts";
import { onWake } from "../lib/wake.ts";
import type { ClassroomBarProps, ClassroomEvent, OwnKey } from "../protocol.ts";

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
  await fetchAnswer(url, "The class", { method: "POST", body: JSON.stringify(body) });
}

/** Do what was pressed. */
export const act = (url: string, action: Action): Promise<void> => tell(`${url}/action`, action);

interface PagePlace {
  /** Name of the page; empty for Explore. */
  page: string;
  query: Record<string, string>;
  /** The part of the address before the page's name, with its last slash. */
  root: string;
}

/** Parameters that belong to one person and are not shared. */
const OWN = Object.keys({ guess: true, share: true, code: true } satisfies Record<OwnKey, true>);
/** Parameters that a map takes over without a new page. */
const SOFT = ["step", "pin"];

/** The place of an address; `pages` are the names of all pages but Explore. */
export function placeOf({ pathname, search }: { pathname: string; search: string }, pages: string[]): PagePlace {
  const parts = pathname.split("/");
  const name = parts.at(-1) || (parts.at(-2) ?? "");
  const page = pages.includes(name) ? name : "";
  const root = page ? pathname.slice(0, pathname.lastIndexOf(page)) : pathname.replace(/[^/]*$/, "");
  const query = Object.fromEntries(new URLSearchParams(search));
  return { page, query: without(query, OWN), root };
}

/** The page's action to reach the teacher's place. */
interface Move {
  /** An address to go to; null where this page stays. */
  address: string | null;
  /** The item to pin; undefined where that is as it should be. */
  pin?: number | null;
}

/** The way from a page to where the teacher is. */
export function moveTo(lead: { page: string; query: Query }, here: PagePlace, guess: number | null): Move {
  const query = without(lead.query as Record<string, string>, OWN);
  const same = lead.page === here.page && key(without(query, SOFT)) === key(without(here.query, SOFT));
  if (!same) {
    const own: Record<string, string> = query.lesson && guess !== null ? { guess: String(guess) } : {};
    const text = new URLSearchParams({ ...query, ...own }).toString();
    return { address: `${here.root}${lead.page}${text ? `?${text}` : ""}` };
  }
  if (query.pin === here.query.pin) return { address: null };
  return { address: null, pin: query.pin === undefined ? null : Number(query.pin) };
}

const without = (query: Record<string, string>, names: string[]) =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)));

const key = (query: Record<string, string>) => JSON.stringify(Object.entries(query).sort());

const TEACHER_PAUSE_MS = 80; // between two reports
const STUDENT_PAUSE_MS = 1000;
const BOARD = "class"; // the teacher's own page, to which students are not led

export class Presence {
  private readonly heed = heeding();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private offs: (() => void)[];
  private step: number | null = null;
  private run: string | null = null;
  private lastText = "";
  private busy = false;
  private saidAt = 0;
  private lastLead = 0; // number of the lead that this page has followed
  private lastOpen = 0; // number of the lead whose page was opened here
  private event: ClassroomEvent | null = null;

  constructor(public props: ClassroomBarProps) {
    this.offs = [
      onAddressChange(() => this.report()),
      bus.on("embedded", () => {
        this.lastText = ""; // the run has finished: the server looks again
        this.report();
      }),
      bus.on("frame", ({ run, step }) => {
        [this.run, this.step] = [run, step];
        if (this.props.teacher) this.report();
        else if (this.event) this.follow(this.event); // the map may not have been there when the lead came
      }),
    ];
    this.report();
  }

  /** The place of this page. */
  private get here() {
    return placeOf(location, this.props.pages);
  }

  /** Say where this page is, if that is news, and not more often than the class needs. */
  report(): void {
    const pause = this.leads ? TEACHER_PAUSE_MS : STUDENT_PAUSE_MS;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.heed(this.send()), Math.max(0, this.saidAt + pause - Date.now()));
  }

  private get leads(): boolean {
    return Boolean(this.props.teacher && this.event?.leading);
  }

  private async send(): Promise<void> {
    const { page, query } = this.here;
    const body = { page, query, step: this.leads ? this.step : null };
    const text = JSON.stringify(body);
    if (text === this.lastText) return;
    if (this.busy) return this.report();
    this.busy = true;
    this.saidAt = Date.now();
    try {
      await tell(`${this.props.url}/place`, body);
      this.lastText = text;
    } catch {
      this.saidAt = Date.now() + STUDENT_PAUSE_MS; // the class is over, or the server away: later again
      this.report();
    }
    this.busy = false;
  }

  /** Go where the class is: to a task that was set, then where the teacher leads. */
  follow(event: ClassroomEvent): void {
    this.event = event;
    if (event.teacher) return this.report(); // who leads says the step, too
    if (this.goToTask(event)) return;
    const { lead } = event;
    if (!lead || !event.leading || !event.following || lead.number === this.lastLead) return;
    if (lead.page === BOARD) return;
    const { address, pin } = moveTo(lead, this.here, event.task?.lesson === lead.query.lesson ? event.mine : null);
    if (address !== null) {
      if (lead.number === this.lastOpen) return; // it is on its way there, or cannot be there
      [this.lastOpen, this.run] = [lead.number, null];
      return navigate(address);
    }
    this.lastOpen = lead.number; // who goes elsewhere now is not taken back
    const { run } = this;
    if (run === null) return; // until the map shows its first frame
    this.lastLead = lead.number;
    if (lead.step !== null && lead.step !== this.step) bus.emit("seek", { run, step: lead.step });
    if (pin !== undefined) bus.emit("pin-item", { run, item: pin });
  }

  /** Go to the task that was set for all, once; whether that was done now. */
  private goToTask({ code, turn, task, mine }: ClassroomEvent): boolean {
    const name = `classroom/${code}/turn`;
    if (Number(sessionStorage.getItem(name) ?? 0) >= turn) return false;
    sessionStorage.setItem(name, String(turn));
    if (!task) return false;
    this.openTask({ task, mine });
    return true;
  }

  /** Go to the task. */
  openTask({ task, mine }: Pick<ClassroomEvent, "task" | "mine">): void {
    if (!task) return;
    const own: Record<string, string> = mine === null ? {} : { guess: String(mine) };
    const data: Record<string, string> = task.dataset === null ? {} : { dataset: task.dataset };
    const query = new URLSearchParams({ lesson: task.lesson, task: String(task.number), ...data, ...own });
    navigate(`${this.here.root}?${query.toString()}`);
  }

  /** True if this page shows the task. */
  showsTask({ task }: Pick<ClassroomEvent, "task">): boolean {
    const { page, query } = this.here;
    return page === "" && query.lesson === task?.lesson && (query.task ?? "1") === String(task?.number);
  }

  /** Follow again from here on, also to where the teacher has been standing. */
  rejoin(): void {
    this.lastLead = this.lastOpen = 0;
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.offs.forEach((off) => off());
  }
}
