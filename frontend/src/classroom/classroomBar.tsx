// The line on top of every page of a person in a class: current events, and whether this page follows the teacher.
import type { ClassroomBarProps, ClassroomEvent } from "../protocol.ts";
import { onAddressChange } from "../lib/router.ts";
import { h, setData } from "../lib/dom.ts";
import { counted, messageOf } from "../lib/format.ts";
import { component, rerun, type ComponentArguments } from "../lib/mount.ts";
import { act, followClassroom, type Action } from "./feed.ts";
import { Presence } from "./presence.ts";
import style from "./bar.css";

type Host = Pick<ComponentArguments<ClassroomBarProps>, "setTriggerValue">;

class Bar {
  private title = h("strong");
  private words = h("span", { class: "words", role: "status" });
  private buttons = h("span", "buttons");
  private root = h("div", "classroom-bar", h("span", "dot"), this.title, this.words, this.buttons);
  private presence: Presence;
  private offs: (() => void)[];
  private event: ClassroomEvent | null = null;
  private lastRefresh: string | null = null; // the state for which Python was asked to refresh
  private key = "";
  private trouble = "";
  private host: Host | null = null;

  constructor(
    parent: ParentNode,
    private data: ClassroomBarProps,
  ) {
    parent.append(this.root);
    this.presence = new Presence(data);
    this.offs = [
      followClassroom(data, (event) => this.onEvent(event)),
      onAddressChange(() => this.render()), // the page may have gone from the task or back
    ];
  }

  update(data: ClassroomBarProps, host: Host): void {
    [this.data, this.host, this.presence.props] = [data, host, data];
    this.lastRefresh = null;
    this.render();
  }

  private onEvent(event: ClassroomEvent | "ended"): void {
    if (event === "ended") return this.refresh("ended");
    this.event = event;
    this.presence.follow(event);
    // Python draws the answer, and on the board the map; it looks again when that may be seen, or may not any more.
    if (event.revealed !== this.data.revealed) this.refresh(`${event.turn} ${event.revealed}`);
    this.render();
  }

  private refresh(state: string): void {
    if (this.lastRefresh === state) return;
    this.lastRefresh = state;
    setTimeout(() => this.host && rerun(this.host), 0);
  }

  private press(action: Action): void {
    act(this.data.url, action).then(
      () => (this.trouble = ""),
      (error: unknown) => {
        this.trouble = messageOf(error);
        this.render();
      },
    );
  }

  private render(): void {
    const { event } = this;
    if (!event) return;
    const atTask = this.presence.showsTask(event);
    const key = JSON.stringify([event, atTask, this.trouble]);
    if (key === this.key) return;
    this.key = key;
    this.title.textContent = event.title;
    this.words.textContent = this.trouble || (event.teacher ? teacherWords(event) : studentWords(event));
    this.buttons.replaceChildren(...(event.teacher ? this.teacherButtons(event) : this.studentButtons(event, atTask)));
    this.root.classList.toggle("leading", event.leading && (event.teacher || event.following));
    setData(this.root, { ready: true, code: event.code, following: event.following, leading: event.leading });
  }

  private teacherButtons({ leading, task, revealed }: ClassroomEvent): HTMLElement[] {
    const lead = button(leading ? "Stop leading" : "Follow me", () => this.press({ what: "lead", on: !leading }));
    lead.title = leading ? "Let everybody explore alone" : "Take every student’s page to where yours goes";
    return task && !revealed ? [button("Show the answer", () => this.press({ what: "reveal" })), lead] : [lead];
  }

  private studentButtons(event: ClassroomEvent, atTask: boolean): HTMLElement[] {
    const { task, leading, following } = event;
    const toTask = task && !atTask ? [button("Go to the task", () => this.presence.openTask(event))] : [];
    if (!leading) return toTask;
    if (following) return [...toTask, button("Explore on your own", () => this.press({ what: "follow", on: false }))];
    return [
      ...toTask,
      button("Follow the teacher", () => {
        this.presence.rejoin();
        this.press({ what: "follow", on: true });
      }),
    ];
  }

  destroy(): void {
    this.offs.forEach((off) => off());
    this.presence.destroy();
    this.root.remove();
  }
}

export default component(style, Bar);

const button = (text: string, click: () => void): HTMLButtonElement => h("button", { click }, text);

const answers = ({ guessed, present }: ClassroomEvent) => `${guessed} of ${present} answered`;

function teacherWords(event: ClassroomEvent): string {
  const online = `${counted(event.online, "student")} here`;
  const task = event.task ? ` · ${event.task.title}: ${answers(event)}` : "";
  return `${online}${task}${event.leading ? " · every page follows yours" : ""}`;
}

function studentWords(event: ClassroomEvent): string {
  if (event.leading && event.following) return "Your page follows the teacher.";
  if (event.leading) return "You explore on your own; the teacher leads the class.";
  if (!event.task) return "Explore, or wait for a task.";
  if (event.revealed) return `${event.task.title}: the answer is shown.`;
  return event.mine === null ? `${event.task.title}: make your guess.` : `${event.task.title}: ${answers(event)}.`;
}
