// On the board: the pictures that a class keeps, for what the net takes them, and the threshold that would have been right.
import { useEffect, useRef, useState } from "preact/hooks";
import { bus } from "../lib/bus.ts";
import { messageOf } from "../lib/format.ts";
import { fetchJson, ROUTES, serverUrl } from "../lib/server.ts";
import type { ClassGallery } from "../protocol.ts";

const PAUSE_MS = 500; // between two looks: thirty pictures may come at once

/** `turn` grows with each picture; who sent it is said where `named`. */
export function ClassPictures({ url, turn, named }: { url: string; turn: number; named: boolean }) {
  const [content, take] = useState<ClassGallery | null>(null);
  const [trouble, say] = useState("");
  const newest = useRef(turn);
  newest.current = turn;
  useEffect(() => {
    const timer = setTimeout(() => {
      fetchJson<ClassGallery>(`${url}/gallery.json`, "The pictures").then(
        (content) => {
          if (newest.current !== turn) return;
          take(content);
          say("");
          const { run, pictures, places } = content;
          bus.emit("gallery", { run, names: pictures.map(({ name }) => name), places });
        },
        (error: unknown) => say(messageOf(error)),
      );
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [url, turn]);
  if (trouble) return <p class="trouble">{trouble}</p>;
  if (!content) return null;
  const { run, pictures, sentences } = content;
  return (
    <section class="pictures" data-count={pictures.length}>
      <p role="status">{sentences.join(" ")}</p>
      <ul>
        {[...pictures].reverse().map(({ id, name, taken, right, by }) => (
          <li key={id} class={right ? "right" : "wrong"} title={named ? by : undefined}>
            <img src={serverUrl(`${ROUTES}/runs/${run}/gallery/${id}.png`)} alt="" />
            <span>
              {name} {right ? "✓" : `✗ ${taken}`}
            </span>
            {named && <span class="quiet">{by}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
