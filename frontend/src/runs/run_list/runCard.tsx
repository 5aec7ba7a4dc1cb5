// One run of the list.
import { useRef, useState } from "preact/hooks";
import { copied } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { dataOf, EditField, Icon, memo } from "../../lib/panel.tsx";
import { addressOf } from "../../lib/router.ts";
import { serverUrl } from "../../lib/server.ts";
import { isLive } from "../../lib/server.ts";
import type { RunCardProps, RunChange, RunSharing } from "../../protocol.ts";
import { readable, SCORES, statusLabel, tagsOf, timeAgo } from "./model.ts";

const LOCK = "M3.5 7.5h9v6h-9ZM5.5 7.5v-2a2.5 2.5 0 0 1 5 0v2";
const CHAIN = "M6.5 9.5l3-3M7 4.5l1.5-1.5a2.6 2.6 0 0 1 4 4L11 8.5M9 11.5L7.5 13a2.6 2.6 0 0 1-4-4L5 7.5";
const GLOBE = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11ZM2.5 8h11M8 2.5c-3.4 3.5-3.4 7.5 0 11c3.4-3.5 3.4-7.5 0-11";
const PENCIL = "M3 13l.6-2.6 7.5-7.5 2 2-7.5 7.5L3 13Zm6.8-8.8 2 2";
const PIN = "M6 2.5h4l-.5 4 2 2.2v.8h-7v-.8l2-2.2-.5-4ZM8 9.5v4";
const BIN = "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9M7 7v4.5M9 7v4.5";
const OUT = "M8 2.5v7.5M5 7l3 3 3-3M3 11v2.5h10V11";
const BOTH = "M2.5 3h4.5v10H2.5ZM9 3h4.5v10H9Z";
const BROKEN = "M4 2.5h5l3 3v2.2l-2 1.6-2-1.8-2 1.8-2-1.6ZM4 9.6l2 1.6 2-1.8 2 1.8 2-1.6v3.9H4Z";
const TAG = "M2.5 2.5H8L13.5 8 8 13.5 2.5 8ZM5.2 5.2h.1";

const VISIBILITIES: Record<RunSharing["visibility"], { label: string; path: string }> = {
  private: { label: "Only me", path: LOCK },
  link: { label: "Everyone with the link", path: CHAIN },
  public: { label: "Everyone", path: GLOBE },
};

/** What a person can do with runs. */
export interface Acts {
  open(this: void, run: string): void;
  compare(this: void, run: string): void;
  change(this: void, request: RunChange): void;
}

interface Props {
  card: RunCardProps;
  theme: "light" | "dark";
  acts: Acts;
}

export const RunCard = memo(({ card, theme, acts }: Props) => {
  const { run, title, tags, badges, state, sharing, pinned, damage, thumbnail } = card;
  const [edited, edit] = useState<"title" | "tags" | null>(null);
  const [isShared, share] = useState(false);
  const [lost, setLost] = useState(""); // the picture that is not there
  const change = (request: Omit<RunChange, "run">) => acts.change({ run, ...request });
  const open = () => acts.open(run);
  const opens = card.readable !== false;
  const src = thumbnail && serverUrl(thumbnail.replace("{theme}", theme));
  const picture = src && src !== lost && (
    <img src={src} alt="" width={480} height={300} loading="lazy" onError={() => setLost(src)} />
  );
  const status = statusLabel(state);
  const words = [status, card.machine && `on ${card.machine}`].filter(Boolean).join(" ");
  const facts = [sharing?.owner, timeAgo(card.created, Date.now()), readable(card.bytes)];

  const editor = (label: string, before: string, keep: (text: string) => void) => {
    const end = (text: string | null) => {
      edit(null);
      if (text !== null) keep(text);
    };
    return <EditField class="field" maxLength={200} {...{ label, before, end }} />;
  };
  const action = (name: string, label: string, path: string, onClick: () => void, more = {}) => (
    <button class={name} title={label} aria-label={`${label}: ${title}`} onClick={onClick} {...more}>
      <Icon path={path} />
    </button>
  );
  const actions = () => {
    const mine = opens && !card.read_only;
    const isLinked = sharing?.group === "shared" && card.read_only; // by a link that was opened
    const sees = sharing?.offered.length ? VISIBILITIES[sharing.visibility] : null;
    return (
      <span class="actions">
        {opens && action("compare", "Compare", BOTH, () => acts.compare(run))}
        {mine && action("rename", "Rename", PENCIL, () => edit("title"))}
        {mine && action("tag", "Tags", TAG, () => edit("tags"))}
        {mine &&
          action("pin", pinned ? "Pinned: never evicted" : "Pin: never evict", PIN, () => change({ pinned: !pinned }), {
            "aria-pressed": pinned,
          })}
        {sees &&
          action("share", `Who sees it: ${sees.label}`, sees.path, () => share(!isShared), {
            "aria-expanded": isShared,
          })}
        {card.export && (
          <a
            class="export"
            href={serverUrl(card.export)}
            download=""
            title="Export (zip)"
            aria-label={`Export: ${title}`}
          >
            <Icon path={OUT} />
          </a>
        )}
        {(isLinked || (!card.read_only && !isLive(state))) &&
          action("delete", isLinked ? "Remove from my list" : "Delete", BIN, () => change({ deleted: true }))}
      </span>
    );
  };

  return (
    <li class="run" {...dataOf({ run, state, pinned })}>
      {opens ? (
        <button class={picture ? "picture" : "picture broken"} aria-label={`Open ${title}`} onClick={open}>
          {src && (picture || <Icon path={BROKEN} />)}
        </button>
      ) : (
        <div class="picture broken">
          <Icon path={BROKEN} />
        </div>
      )}
      <div class="about">
        {edited === "title" ? (
          editor("Title", title, (text) => text.trim() && change({ title: text.trim() }))
        ) : opens ? (
          <button class="title" onClick={open} children={title} />
        ) : (
          <span class="title">{title}</span>
        )}
        <Badges class="badges" texts={badges} />
        <p class="damage" hidden={!damage} children={damage} />
        {edited === "tags" ? (
          editor("Tags (comma-separated)", tags.join(", "), (text) => change({ tags: tagsOf(text) }))
        ) : (
          <Badges class="tags" texts={tags} />
        )}
        <p
          class="scores"
          title={card.tested ? `On ${grouped(card.tested)} of the test set, each against all others` : undefined}
        >
          {Object.entries(card.scores).map(([key, value]) => (
            <span>
              {SCORES[key]} <b>{value.toFixed(3)}</b>
            </span>
          ))}
          {words && <span class={status && !isLive(state) ? "state" : ""} children={words} />}
        </p>
        <div class="foot">
          <span class="facts">{facts.filter(Boolean).join(" · ")}</span>
          {actions()}
        </div>
        <div class="sharing" hidden={!isShared}>
          {isShared && sharing && <Sharing {...{ run, sharing, change }} />}
        </div>
      </div>
    </li>
  );
});

const Badges = ({ texts, ...more }: { texts: string[]; class: string }) => (
  <p {...more} hidden={!texts.length}>
    {texts.map((text) => (
      <span>{text}</span>
    ))}
  </p>
);

/** The choices that a person has, and the link where there is one. */
function Sharing({ run, sharing, change }: { run: string; sharing: RunSharing; change: (request: object) => void }) {
  const { offered, visibility: chosen, key } = sharing;
  const field = useRef<HTMLInputElement>(null);
  const [said, say] = useState("Copy");
  const link = key && new URL(addressOf("", { run, share: key }, location, "runs"), location.href).href;
  const copy = async () => {
    say((await copied(link)) ? "Copied" : "Press Ctrl+C");
    field.current?.select();
  };
  return (
    <>
      {offered.map((visibility) => (
        <button
          class="choice"
          data-visibility={visibility}
          aria-pressed={visibility === chosen}
          onClick={() => change({ visibility })}
        >
          <Icon path={VISIBILITIES[visibility].path} />
          {VISIBILITIES[visibility].label}
        </button>
      ))}
      {link && (
        <div class="link">
          <input ref={field} type="text" class="field" aria-label="Link" readOnly value={link} />
          <button class="copy" onClick={copy} children={said} />
        </div>
      )}
    </>
  );
}
