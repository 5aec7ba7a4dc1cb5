// The teacher's board, made for a projector: how to join, the task for all, the guesses; names only when asked for.
import type { ClassroomBoardProps, ClassroomEvent, ClassroomResult, ClassroomStudent } from "../protocol.ts";
import { svg } from "../charts/svg.ts";
import { h, setData } from "../lib/dom.ts";
import { counted, messageOf } from "../lib/format.ts";
import { navigate } from "../lib/router.ts";
import { serverUrl } from "../lib/server.ts";
import { component } from "../lib/mount.ts";
import { act, type Action, followClassroom } from "./feed.ts";
import style from "./board.css";

const LARGE = "classroom/large";

/** Draw the guesses; `answer` (from 1) is marked where it is given. */
function histogram(guesses: string[], counts: number[], answer: number | null): HTMLElement {
  const all = counts.reduce((sum, count) => sum + count, 0) || 1;
  const rows = guesses.map((text, i) => {
    const right = answer === i + 1;
    const fill = h("span", { class: "fill", style: `width: ${(100 * counts[i]) / all}%` });
    return h(
      "li",
      { class: right ? "right" : "", "data-count": counts[i] },
      h("span", "guess", text, right ? h("span", "mark", "✓ the answer") : null),
      h("span", "track", fill),
      h("span", "count", String(counts[i])),
    );
  });
  return h("ol", "histogram", ...rows);
}

class Board {
  private lesson = h("select", { "aria-label": "Lesson", change: () => this.listTasks() });
  private task = h("select", { "aria-label": "Task" });
  private dataset = h("select", { "aria-label": "Data set" });
  private set = button("Set for all", () => this.setTask(), "primary");
  private larger = button("Larger text", () => this.enlarge(!this.root.classList.contains("large")));
  private end = button("End the class", () => this.confirmEnd());
  private trouble = h("p", { class: "trouble", role: "alert", hidden: true });
  private join = h("section", "join");
  private present = h("p", "present");
  private now = h("section", "now");
  private students = h("section", "students");
  private namesShown = false;
  private root: HTMLElement;
  private leave: () => void;
  private event: ClassroomEvent | null = null;
  private ending: ReturnType<typeof setTimeout> | undefined;

  constructor(
    parent: ParentNode,
    private data: ClassroomBoardProps,
  ) {
    const controls = h(
      "div",
      "controls",
      this.lesson,
      this.task,
      this.dataset,
      this.set,
      h("span", "gap"),
      this.larger,
      this.end,
    );
    this.root = h("div", "board", controls, this.trouble, h("div", "main", this.join, this.now), this.students);
    parent.append(this.root);
    this.lesson.append(...data.lessons.map(({ name, title }) => h("option", { value: name }, title)));
    this.dataset.append(...data.datasets.map(({ name, title }) => h("option", { value: name }, title)));
    this.listTasks();
    this.enlarge(sessionStorage.getItem(LARGE) === "true");
    this.drawJoin();
    this.leave = followClassroom(data, (event) => event !== "ended" && this.render(event));
  }

  update(data: ClassroomBoardProps): void {
    const isNew = data.link !== this.data.link;
    this.data = data;
    if (isNew) this.drawJoin();
  }

  /** Write larger or not, also when the teacher comes back to the board. */
  private enlarge(large: boolean): void {
    this.root.classList.toggle("large", large);
    this.larger.setAttribute("aria-pressed", String(large));
    sessionStorage.setItem(LARGE, String(large));
  }

  private listTasks(): void {
    const tasks = this.data.lessons.find(({ name }) => name === this.lesson.value)?.tasks ?? [];
    this.task.replaceChildren(...tasks.map((title, i) => h("option", { value: i + 1 }, `${i + 1}. ${title}`)));
  }

  private setTask(): void {
    this.press({ what: "task", lesson: this.lesson.value, task: Number(this.task.value), dataset: this.dataset.value });
  }

  private confirmEnd(): void {
    if (this.ending !== undefined) return this.press({ what: "end" });
    this.end.textContent = "End it for everybody?";
    this.ending = setTimeout(() => {
      this.ending = undefined;
      this.end.textContent = "End the class";
    }, 4000);
  }

  private press(action: Action): void {
    const show = (text: string) => {
      this.trouble.textContent = text;
      this.trouble.hidden = !text;
    };
    act(this.data.url, action).then(
      () => show(""),
      (error: unknown) => show(messageOf(error)),
    );
  }

  private drawJoin(): void {
    const { code, link, reachable, qr, qr_size, ends } = this.data;
    const warning = reachable ? null : h("p", "trouble", "Other machines cannot open this address: see docs/PEOPLE.md.");
    this.join.replaceChildren(
      qrCode(qr, qr_size),
      h(
        "div",
        "how",
        h("p", "label", "Join with the code"),
        h("p", { class: "code", "aria-label": `Code ${[...code].join(" ")}` }, `${code.slice(0, 3)} ${code.slice(3)}`),
        h("p", "label", "or at"),
        h("p", "link", h("a", { href: link }, link.replace(/^https?:\/\//, ""))),
        this.present,
        h("p", "quiet", `The class ends at ${ends}.`),
        warning,
      ),
    );
  }

  private render(event: ClassroomEvent): void {
    this.event = event;
    const { task, counts, ready, revealed, answer, result, guessed, present, online, leading } = event;
    this.root.classList.toggle("tasking", task !== null);
    this.present.textContent = `${online} here`;
    if (task && counts) {
      const reveal = revealed
        ? h("span", "quiet", "The answer is shown to all.")
        : button("Show the answer", () => this.press({ what: "reveal" }), "primary");
      this.now.replaceChildren(
        h("p", "label", `${task.lesson_title}, task ${task.number}`),
        h("h2", null, task.title),
        h("p", "question", task.question),
        histogram(task.guesses, counts, revealed ? answer : null),
        result ? this.resultView(result) : "",
        h(
          "p",
          "foot",
          h("strong", null, `${guessed} of ${present}`),
          ` answered; the answer is ready on ${counted(ready ?? 0, "page")}`,
          h("span", "gap"),
          reveal,
          button("No task", () => this.press({ what: "task", lesson: null, task: 1 })),
        ),
      );
    } else this.now.replaceChildren();
    this.drawStudents(event.students ?? []);
    setData(this.root, { ready: true, present, online, guessed, revealed, leading, code: event.code });
  }

  private resultView({ sentence, numbers, run }: ClassroomResult): HTMLElement {
    const showAll = () => {
      this.press({ what: "show" });
      navigate(`${location.pathname.replace(/[^/]*$/, "")}?run=${run}`);
    };
    return h(
      "div",
      "result",
      h("p", "sentence", sentence),
      h("dl", null, ...numbers.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
      button("Show the run to all", showAll, "primary"),
    );
  }

  private drawStudents(students: ClassroomStudent[]): void {
    const { url } = this.data;
    const toggle = button(this.namesShown ? "Hide names" : "Show names", () => {
      this.namesShown = !this.namesShown;
      this.drawStudents(this.event?.students ?? []);
    });
    const present = students.filter((student) => !student.removed);
    const following = present.filter((student) => student.following).length;
    const words = this.event?.leading ? `${following} of ${present.length} follow you.` : "";
    this.students.replaceChildren(
      h(
        "div",
        "controls",
        h("strong", null, counted(present.length, "student")),
        h("span", "quiet", words),
        h("span", "gap"),
        h("a", { href: serverUrl(`${url}/class.csv`), download: "" }, "Class as CSV"),
        h("a", { href: serverUrl(`${url}/hand-ins.zip`), download: "" }, "All hand-ins (zip)"),
        toggle,
      ),
      this.namesShown ? this.table(students) : "",
    );
  }

  private table(students: ClassroomStudent[]): HTMLElement {
    const guesses = this.event?.task?.guesses ?? [];
    const rows = students.map(({ id, nickname, online, place, guess, following, removed }) =>
      h(
        "tr",
        online && !removed ? "" : "away",
        h("td", null, nickname),
        h("td", null, removed ? "removed" : online ? place : "away"),
        h("td", null, guess === null ? "–" : (guesses[guess - 1] ?? "–")),
        h("td", null, this.event?.leading && !removed ? (following ? "follows" : "alone") : ""),
        h("td", "remove", this.removal(id, nickname, removed)),
      ),
    );
    const heads = ["Student", "Where", "Guess", "", ""].map((text) => h("th", { scope: "col" }, text));
    return h("table", null, h("thead", null, h("tr", null, ...heads)), h("tbody", null, ...rows));
  }

  private removal(student: string, nickname: string, removed: boolean): HTMLButtonElement {
    const press = () => this.press({ what: "remove", student, on: !removed });
    const node = button(removed ? "Let in again" : "Remove", press);
    node.setAttribute("aria-label", removed ? `Let ${nickname} in again` : `Remove ${nickname} from the class`);
    return node;
  }

  destroy(): void {
    clearTimeout(this.ending);
    this.leave();
    this.root.remove();
  }
}

export default component(style, Board);

const button = (text: string, click: () => void, kind = "") => h("button", { class: kind, click }, text);

/** The QR code, dark on white in both themes: many cameras read nothing else. */
const qrCode = (path: string, size: number): SVGSVGElement =>
  svg(
    "svg",
    { viewBox: `0 0 ${size} ${size}`, class: "qr", role: "img", "aria-label": "QR code of the link" },
    svg("path", { d: path }),
  );
