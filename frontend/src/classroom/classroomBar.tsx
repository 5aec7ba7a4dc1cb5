// The line on top of every page of a person in a class: current events, and whether this page follows the teacher.
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { counted, messageOf } from "../lib/format.ts";
import { rerun } from "../lib/mount.ts";
import { panel, type Hosted } from "../lib/panel.tsx";
import { onAddressChange } from "../lib/router.ts";
import type { ClassroomBarProps, ClassroomEvent } from "../protocol.ts";
import { act, followClassroom, type Action } from "./presence.ts";
import { Presence } from "./presence.ts";
import style from "./bar.css";

function Bar({ host, ...data }: Hosted<ClassroomBarProps>) {
  const [event, take] = useState<ClassroomEvent | null>(null);
  const [trouble, say] = useState("");
  const [, look] = useReducer((times: number) => times + 1, 0);
  const presence = useMemo(() => new Presence(data), []);
  const newest = useRef({ host, refreshed: "" }); // `refreshed`: the state for which Python was asked to look again
  if (newest.current.host !== host) newest.current = { host, refreshed: "" };
  presence.props = data;
  useLayoutEffect(() => {
    const refresh = (state: string) => {
      if (newest.current.refreshed === state) return;
      newest.current.refreshed = state;
      setTimeout(() => rerun(newest.current.host), 0);
    };
    const offs = [
      followClassroom(data, (event) => {
        if (event === "ended") return refresh("ended");
        take(event);
        presence.follow(event);
        // Python draws the answer, and on the board the map; it looks again when that may be seen, or may not any more.
        const { turn, revealed, gallery_run: run } = event;
        const props = presence.props;
        if (revealed !== props.revealed || run !== props.gallery_run) refresh(`${turn} ${revealed} ${run}`);
      }),
      onAddressChange(() => look(null)), // the page may have gone from the task or back
    ];
    return () => {
      offs.forEach((off) => off());
      presence.destroy();
    };
  }, []);
  if (!event)
    return (
      <div class="classroom-bar">
        <span class="dot" />
      </div>
    );
  const press = (action: Action) => {
    act(data.url, action).then(
      () => say(""),
      (error: unknown) => say(messageOf(error)),
    );
  };
  const { teacher, leading, following, task } = event;
  return (
    <div
      class={leading && (teacher || following) ? "classroom-bar leading" : "classroom-bar"}
      {...{ "data-ready": true, "data-code": event.code, "data-following": following, "data-leading": leading }}
    >
      <span class="dot" />
      <strong>{event.title}</strong>
      <span class="words" role="status">
        {trouble || (teacher ? teacherWords(event) : studentWords(event))}
      </span>
      <span class="buttons">
        {teacher && task && !event.revealed && (
          <button onClick={() => press({ what: "reveal" })}>Show the answer</button>
        )}
        {teacher && (
          <button
            title={leading ? "Let everybody explore alone" : "Take every student’s page to where yours goes"}
            onClick={() => press({ what: "lead", on: !leading })}
          >
            {leading ? "Stop leading" : "Follow me"}
          </button>
        )}
        {!teacher && task && !presence.showsTask(event) && (
          <button onClick={() => presence.openTask(event)}>Go to the task</button>
        )}
        {!teacher && leading && (
          <button
            onClick={() => {
              if (!following) presence.rejoin();
              press({ what: "follow", on: !following });
            }}
          >
            {following ? "Explore on your own" : "Follow the teacher"}
          </button>
        )}
      </span>
    </div>
  );
}

export default panel(style, Bar);

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
