// Says where this page is, and takes it where the teacher leads.
import { bus } from "../../lib/bus.ts";
import { navigate } from "../../lib/router.ts";
import type { ClassroomBarProps, ClassroomEvent } from "../../protocol.ts";
import { tell } from "./feed.ts";
import { moveTo, placeOf } from "./place.ts";

const LOOK_MS = 80; // Streamlit says nowhere that it has changed the address
const TEACHER_PAUSE_MS = 80; // between two reports
const STUDENT_PAUSE_MS = 1000;
const BOARD = "classroom"; // the teacher's own page, to which nobody is led

export class Presence {
  private timer: ReturnType<typeof setInterval>;
  private leave: () => void;
  private step: number | null = null;
  private run: string | null = null;
  private said = "";
  private busy = false;
  private saidAt = 0;
  private applied = 0; // number of the lead that this page has followed
  private navigated = 0; // number of the lead whose page was opened here
  private event: ClassroomEvent | null = null;

  constructor(public props: ClassroomBarProps) {
    this.timer = setInterval(() => void this.report(), LOOK_MS);
    this.leave = bus.on("frame", ({ run, step }) => {
      [this.run, this.step] = [run, step];
      if (this.props.teacher) void this.report();
      else if (this.event) this.follow(this.event); // the map may not have been there when the lead came
    });
  }

  /** Where this page is. */
  private get here() {
    return placeOf(location, this.props.pages);
  }

  private async report(): Promise<void> {
    const { teacher, url } = this.props;
    const leads = teacher && this.event?.leading;
    const pause = leads ? TEACHER_PAUSE_MS : STUDENT_PAUSE_MS;
    if (this.busy || Date.now() - this.saidAt < pause) return;
    const { page, query } = this.here;
    const body = { page, query, step: leads ? this.step : null };
    const text = JSON.stringify(body);
    if (text === this.said) return;
    this.busy = true;
    this.saidAt = Date.now();
    try {
      await tell(`${url}/place`, body);
      this.said = text;
    } catch {
      this.saidAt = Date.now() + STUDENT_PAUSE_MS; // the class is over, or the server away: later again
    }
    this.busy = false;
  }

  /** Go where the class is: to a task that was set, then where the teacher leads. */
  follow(event: ClassroomEvent): void {
    this.event = event;
    if (event.teacher) return;
    if (this.goToTask(event)) return;
    const { lead } = event;
    if (!lead || !event.leading || !event.following || lead.number === this.applied) return;
    if (lead.page === BOARD) return;
    const { address, pin } = moveTo(lead, this.here, event.task?.lesson === lead.query.lesson ? event.mine : null);
    if (address !== null) {
      if (lead.number === this.navigated) return; // it is on its way there, or cannot be there
      [this.navigated, this.run] = [lead.number, null];
      return navigate(address);
    }
    this.navigated = lead.number; // who goes elsewhere now is not taken back
    const { run } = this;
    if (run === null) return; // until the map shows its first frame
    this.applied = lead.number;
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
    const query = new URLSearchParams({ lesson: task.lesson, task: String(task.number), ...own });
    navigate(`${this.here.root}?${query.toString()}`);
  }

  /** Whether this page shows the task. */
  showsTask({ task }: Pick<ClassroomEvent, "task">): boolean {
    const { page, query } = this.here;
    return page === "" && query.lesson === task?.lesson && (query.task ?? "1") === String(task?.number);
  }

  /** Follow again from here on, also to where the teacher has been standing. */
  rejoin(): void {
    this.applied = this.navigated = 0;
  }

  destroy(): void {
    clearInterval(this.timer);
    this.leave();
  }
}
