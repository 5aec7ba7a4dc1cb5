// Cards of pages to go to, in sections, with a picture each: a symbol of one file of drawings, or one of its own.
import { useAnswer } from "../../lib/hooks.ts";
import { dataOf, panel } from "../../lib/panel.tsx";
import { fetchServer } from "../../lib/server.ts";
import type { Card, CardIndexProps, CardSection } from "../../protocol.ts";
import style from "./cardIndex.css";

/** The drawings, a file of this program. Without them the index is still one. */
async function load(address: string): Promise<string> {
  const answer = address ? await fetchServer(address).catch(() => null) : null;
  return answer?.ok ? answer.text() : "";
}

export default panel<CardIndexProps>(style, ({ sections, pictures }) => {
  const { found } = useAnswer(pictures ?? "", load);
  return (
    <section class="card-index" {...dataOf({ ready: found !== undefined || null })}>
      <div class="symbols" aria-hidden="true" dangerouslySetInnerHTML={{ __html: found ?? "" }} />
      <div>{sections.map(Section)}</div>
    </section>
  );
});

function Section({ title, text, heading, cards, form }: CardSection) {
  const Heading = `h${heading}` as const;
  return (
    <section class={form}>
      {title && <Heading>{title}</Heading>}
      {text && <p>{text}</p>}
      <ul>
        {cards.map((card) => (
          <li>
            <Link {...card} isLarge={form === "large"} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const Link = ({ address, title, text, note, picture, chart, isLarge }: Card & { isLarge: boolean }) => (
  <a href={address} class={picture ? "pictured" : ""} title={isLarge ? "" : text}>
    {picture && (
      <svg viewBox="0 0 240 144" aria-hidden="true">
        <use href={`#${picture}`} />
      </svg>
    )}
    <strong>{title}</strong>
    {isLarge && <span class="text">{text}</span>}
    {chart && <img src={`data:image/svg+xml,${encodeURIComponent(chart)}`} alt="" />}
    {note && <span class="note">{note}</span>}
  </a>
);
