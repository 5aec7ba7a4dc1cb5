// The maps that a run can have, as buttons, and the last of them in a list. The map is shown before the page hears of it: to draw a page of Streamlit's
// anew takes the browser as long as a first layout takes the server.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { bus } from "../../lib/bus.ts";
import { panel } from "../../lib/panel.tsx";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import type { MapProps, ViewPickerProps } from "../../protocol.ts";
import style from "./viewPicker.css";

const BUTTONS = 4; // as many have room beside each other on a telephone
const PAGE_AFTER_MS = 1000; // the page hears of it by then, whether the map is there or not
const GOES_ON = ["pointerdown", "keydown"]; // and before whatever else a person does, such as to train

export default panel<ViewPickerProps>(style, ({ host, run, view, views }) => {
  const [picked, setPicked] = useState<string | null>(null); // what the page has not yet answered
  const newest = useRef({ host, turn: 0, told: true, tell: () => {} });
  newest.current.host = host;
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => void (newest.current.told && setPicked(null)), [host]);
  useLayoutEffect(() => () => newest.current.tell(), [run]); // before the map a training was begun
  const shown = picked ?? view;

  const pick = async (name: string) => {
    if (name === shown) return;
    const turn = ++newest.current.turn;
    newest.current.told = false;
    setPicked(name);
    const isNewest = () => turn === newest.current.turn && !newest.current.told;
    const goOn = (event: Event) => event.composedPath().includes(place.current as EventTarget) || tell();
    const tell = () => {
      for (const kind of GOES_ON) removeEventListener(kind, goOn, true);
      if (!isNewest()) return;
      newest.current.told = true;
      bus.emit("map", null);
      newest.current.host.setTriggerValue("view", name);
    };
    newest.current.tell = tell;
    for (const kind of GOES_ON) addEventListener(kind, goOn, true);
    setTimeout(tell, PAGE_AFTER_MS);
    await showMap(run, name, isNewest);
    tell();
  };
  /** Arrows go from button to button; a map is begun only by Enter, space or a click. */
  const onKeyDown = (event: KeyboardEvent) => {
    const { parentElement: group, nextElementSibling, previousElementSibling } = event.target as HTMLElement;
    const next = nextElementSibling ?? group?.firstElementChild;
    const previous = previousElementSibling ?? group?.lastElementChild;
    const to = { ArrowLeft: previous, ArrowUp: previous, ArrowRight: next, ArrowDown: next }[event.key];
    if (!to) return;
    event.preventDefault();
    event.stopPropagation(); // the map has keys of its own
    (to as HTMLElement).focus();
  };
  const names = Object.keys(views);
  const listed = names.slice(BUTTONS);
  const reached = listed.includes(shown) ? names[0] : shown; // by the tab key
  return (
    <div class="picker" ref={place}>
      <div class="views" role="radiogroup" aria-label="Projection" onKeyDown={onKeyDown}>
        {names.slice(0, BUTTONS).map((name) => (
          <button
            role="radio"
            aria-checked={name === shown}
            tabIndex={name === reached ? 0 : -1}
            onClick={() => pick(name)}
            children={views[name]}
          />
        ))}
      </div>
      {listed.length > 0 && (
        <select
          aria-label="More projections"
          class={listed.includes(shown) ? "shown" : ""}
          value={listed.includes(shown) ? shown : ""}
          onChange={({ currentTarget }) => pick(currentTarget.value)}
        >
          <option value="" hidden children="More" />
          {listed.map((name) => (
            <option value={name} children={views[name]} />
          ))}
        </select>
      )}
    </div>
  );
});

/** Have the map of a run show another view, where that can be done at once and is `wanted`; until its first layout is seen. */
async function showMap(run: string, view: string, wanted: () => boolean): Promise<void> {
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const map = await fetchJson<MapProps | null>(`${ROUTES}/runs/${run}/map`, "The map", { view, query }).catch(
    () => null,
  );
  if (!map || !wanted()) return; // the page says why, or shows it itself
  bus.emit("map", map);
  await new Promise<void>((done) => {
    const off = bus.on("frame", (frame) => {
      if (frame.run !== run) return;
      off();
      done();
    });
  });
}
