// The teacher's board, made for a projector: how to join, the task for all, the guesses; names only when asked for.
import { useLayoutEffect } from "preact/hooks";
import { counted, messageOf } from "../lib/format.ts";
import { useParts } from "../lib/hooks.ts";
import { type Hosted, panel, themeOf } from "../lib/panel.tsx";
import { navigate } from "../lib/router.ts";
import { serverUrl } from "../lib/server.ts";
import type { ClassroomBoardProps, ClassroomEvent, ClassroomResult } from "../protocol.ts";
import { ClassPictures } from "./classPictures.tsx";
import { ClassRace } from "./classRace.tsx";
import { act, type Action, followClassroom } from "./presence.ts";
import style from "./board.css";

const LARGE = "classroom/large";
const CONFIRM_MS = 4000;

type Press = (action: Action) => void;

function Board({ host, ...data }: Hosted<ClassroomBoardProps>) {
  const { lessons, datasets, url } = data;
  const [state, set] = useParts({
    ...{ event: null as ClassroomEvent | null, trouble: "", namesShown: false, ending: false },
    ...{ lesson: lessons[0]?.name ?? "", task: 1, dataset: datasets[0]?.name ?? "" },
    large: sessionStorage.getItem(LARGE) === "true", // also when the teacher comes back to the board
  });
  const { event, lesson, task, dataset, large, ending } = state;
  useLayoutEffect(() => followClassroom(data, (event) => event !== "ended" && set({ event })), []);
  useLayoutEffect(() => sessionStorage.setItem(LARGE, String(large)), [large]);
  useLayoutEffect(() => {
    const timer = ending && setTimeout(() => set({ ending: false }), CONFIRM_MS);
    return () => clearTimeout(timer || undefined);
  }, [ending]);
  const press: Press = (action) => {
    act(url, action).then(
      () => set({ trouble: "" }),
      (error: unknown) => set({ trouble: messageOf(error) }),
    );
  };
  const menu = (label: string, value: string | number, options: [string | number, string][], pick: Picked) => (
    <select {...{ "aria-label": label, value }} onChange={(event) => pick(event.currentTarget.value)}>
      {options.map(([value, title]) => (
        <option value={value}>{title}</option>
      ))}
    </select>
  );
  const tasks = lessons.find(({ name }) => name === lesson)?.tasks ?? [];
  return (
    <div
      class={large ? "board large" : "board"}
      {...(event && {
        ...{ "data-ready": true, "data-present": event.present, "data-online": event.online, "data-code": event.code },
        ...{ "data-guessed": event.guessed, "data-revealed": event.revealed, "data-leading": event.leading },
      })}
    >
      <div class="controls">
        {menu("Lesson", lesson, lessons.map(titled), (name) => set({ lesson: name, task: 1 }))}
        {menu(
          "Task",
          task,
          tasks.map((title, i) => [i + 1, `${i + 1}. ${title}`]),
          (number) => set({ task: Number(number) }),
        )}
        {menu("Data set", dataset, datasets.map(titled), (name) => set({ dataset: name }))}
        <button class="primary" onClick={() => press({ what: "task", lesson, task, dataset })}>
          Set for all
        </button>
        <span class="gap" />
        <button aria-pressed={large} onClick={() => set({ large: !large })}>
          Larger text
        </button>
        <button onClick={() => (ending ? press({ what: "end" }) : set({ ending: true }))}>
          {ending ? "End it for everybody?" : "End the class"}
        </button>
      </div>
      <p class="trouble" role="alert" hidden={!state.trouble}>
        {state.trouble}
      </p>
      <div class="main">
        {joining(data, event)}
        <section class="now">
          {event && <Now event={event} press={press} />}
          {event?.gallery_run && <ClassPictures {...{ url, turn: event.gallery_turn }} named={state.namesShown} />}
          <ClassRace {...{ url }} named={state.namesShown} dark={themeOf(host).dark} />
        </section>
      </div>
      <section class="students">
        {event && (
          <Students {...{ event, url, press }} named={state.namesShown} name={(namesShown) => set({ namesShown })} />
        )}
      </section>
    </div>
  );
}

export default panel(style, Board);

type Picked = (value: string) => void;

const titled = ({ name, title }: { name: string; title: string }): [string, string] => [name, title];

function joining({ code, link, reachable, qr, qr_size, ends }: ClassroomBoardProps, event: ClassroomEvent | null) {
  return (
    <section class="join">
      {/* Dark on white in both themes: many cameras read nothing else. */}
      <svg viewBox={`0 0 ${qr_size} ${qr_size}`} class="qr" role="img" aria-label="QR code of the link">
        <path d={qr} />
      </svg>
      <div class="how">
        <p class="label">Join with the code</p>
        <p class="code" aria-label={`Code ${[...code].join(" ")}`}>
          {`${code.slice(0, 3)} ${code.slice(3)}`}
        </p>
        <p class="label">or at</p>
        <p class="link">
          <a href={link}>{link.replace(/^https?:\/\//, "")}</a>
        </p>
        <p class="present">{event && `${event.online} here`}</p>
        <p class="quiet">{`The class ends at ${ends}.`}</p>
        {!reachable && (
          <p class="trouble">Other machines cannot open this address: “dmlviz docs PEOPLE” says how they can.</p>
        )}
      </div>
    </section>
  );
}

/** The task for all and the guesses; the answer is marked where it is given. */
function Now({ event, press }: { event: ClassroomEvent; press: Press }) {
  const { task, counts, ready, revealed, answer, result, guessed, present } = event;
  if (!task || !counts) return null;
  const all = counts.reduce((sum, count) => sum + count, 0) || 1;
  return (
    <>
      <p class="label">{`${task.lesson_title}, task ${task.number}`}</p>
      <h2>{task.title}</h2>
      <p class="question">{task.question}</p>
      <ol class="histogram">
        {task.guesses.map((text, i) => {
          const right = revealed && answer === i + 1;
          return (
            <li class={right ? "right" : ""} data-count={counts[i]}>
              <span class="guess">
                {text}
                {right && <span class="mark">✓ the answer</span>}
              </span>
              <span class="track">
                <span class="fill" style={`width: ${(100 * counts[i]) / all}%`} />
              </span>
              <span class="count">{counts[i]}</span>
            </li>
          );
        })}
      </ol>
      {result && resultView(result, press)}
      <p class="foot">
        <strong>{`${guessed} of ${present}`}</strong>
        {` answered; the answer is ready on ${counted(ready ?? 0, "page")}`}
        <span class="gap" />
        {revealed ? (
          <span class="quiet">The answer is shown to all.</span>
        ) : (
          <button class="primary" onClick={() => press({ what: "reveal" })}>
            Show the answer
          </button>
        )}
        <button onClick={() => press({ what: "task", lesson: null, task: 1 })}>No task</button>
      </p>
    </>
  );
}

function resultView({ sentence, numbers, run }: ClassroomResult, press: Press) {
  const showAll = () => {
    press({ what: "show" });
    navigate(`${location.pathname.replace(/[^/]*$/, "")}?run=${run}`);
  };
  return (
    <div class="result">
      <p class="sentence">{sentence}</p>
      <dl>{numbers.map(([name, value]) => [<dt>{name}</dt>, <dd>{value}</dd>])}</dl>
      <button class="primary" onClick={showAll}>
        Show the run to all
      </button>
    </div>
  );
}

interface Listed {
  event: ClassroomEvent;
  url: string;
  press: Press;
  named: boolean;
  name(this: void, named: boolean): void;
}

function Students({ event, url, press, named, name }: Listed) {
  const { students = [], leading, task } = event;
  const present = (students ?? []).filter((student) => !student.removed);
  const following = present.filter((student) => student.following).length;
  return (
    <>
      <div class="controls">
        <strong>{counted(present.length, "student")}</strong>
        <span class="quiet">{leading && `${following} of ${present.length} follow you.`}</span>
        <span class="gap" />
        <a href={serverUrl(`${url}/class.csv`)} download="">
          Class as CSV
        </a>
        <a href={serverUrl(`${url}/hand-ins.zip`)} download="">
          All hand-ins (zip)
        </a>
        <button onClick={() => name(!named)}>{named ? "Hide names" : "Show names"}</button>
      </div>
      {named && (
        <table>
          <thead>
            <tr>
              {["Student", "Where", "Guess", "", ""].map((text) => (
                <th scope="col">{text}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(students ?? []).map(({ id, nickname, online, place, guess, following, removed }) => (
              <tr key={id} class={online && !removed ? "" : "away"}>
                <td>{nickname}</td>
                <td>{removed ? "removed" : online ? place : "away"}</td>
                <td>{(guess !== null && task?.guesses[guess - 1]) || "–"}</td>
                <td>{leading && !removed && (following ? "follows" : "alone")}</td>
                <td class="remove">
                  <button
                    aria-label={removed ? `Let ${nickname} in again` : `Remove ${nickname} from the class`}
                    onClick={() => press({ what: "remove", student: id, on: !removed })}
                  >
                    {removed ? "Let in again" : "Remove"}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
