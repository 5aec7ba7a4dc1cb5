// What a person asks about, and what came of it: a drawing, or a picture with its frame. They outlive the panel that
// shows them, since switching a page unmounts it, and a drawing or file should not be lost.
import { decodeBase64 } from "../../lib/base64.ts";
import { heeding } from "../../lib/boundary.ts";
import { messageOf } from "../../lib/format.ts";
import { fetchServer } from "../../lib/server.ts";
import type { Drawing, QueryAnswer, QueryQuestion, QueryRefusal, QuerySource } from "../../protocol.ts";
import type { Answered } from "../inspector/captions.ts";
import type { FramedPicture } from "./frameEditor.tsx";
import { type Frame, frameParameter } from "./frameGeometry.ts";

export const MAX_MB = 30;

/** A drawing or a sample; or the file of a picture. */
export type Question = QueryQuestion | Blob;

/** What is asked about, as the body of a request. */
export function bodyOf(question: Question): RequestInit {
  const isFile = question instanceof Blob;
  const type = isFile ? "application/octet-stream" : "application/json";
  return { body: isFile ? question : JSON.stringify(question), headers: { "Content-Type": type } };
}

/** What is to be kept: a question about a picture; or one of several files, of which a zip names its own. */
export interface Keepable {
  question: Question;
  frame?: Frame | null;
  title?: string;
}

/** Why there is no answer, for now; `picture` is there where the picture itself could be read. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly picture?: string,
    readonly later = false,
  ) {
    super(message);
  }
}

export class Asker {
  private under: AbortController | null = null;

  /** The answer, or null where a newer question has come; `returns`: with the small picture. Throws `Refused`. */
  async ask(
    url: string,
    question: Question,
    { frame = null, returns = false }: { frame?: Frame | null; returns?: boolean } = {},
  ): Promise<QueryAnswer | null> {
    this.stop();
    if (question instanceof Blob && question.size > MAX_MB * 2 ** 20) {
      const size = Math.round(question.size / 2 ** 20);
      throw new Refused(`A picture has up to ${MAX_MB} MB; this one has ${size} MB: send a smaller one.`);
    }
    const under = (this.under = new AbortController());
    const address = `${url}${frame ? `&frame=${frameParameter(frame)}` : ""}${returns ? "&picture=1" : ""}`;
    const init = { ...bodyOf(question), method: "POST", signal: under.signal };
    try {
      const response = await fetchServer(address, init);
      const answer = (await response.json().catch(() => ({}))) as QueryAnswer & QueryRefusal;
      if (under.signal.aborted) return null;
      if (response.ok) return answer;
      const words = answer.error ?? `The server answered ${response.status}; try again.`;
      throw new Refused(words, answer.picture, response.status === 503);
    } catch (error) {
      if (under.signal.aborted) return null;
      if (error instanceof Refused) throw error;
      throw new Refused("The server did not answer; see whether it is still there, and try again.", undefined, true);
    }
  }

  /** Forget what is under way. */
  stop(): void {
    this.under?.abort();
    this.under = null;
  }
}

const LATE_MS = 400; // after which a question that waits is said to
const AGAIN_MS = 1000; // after an answer that did not come, or lacks the map that is shown; twice as long each time
const MOST_TRIES = 5;
const REFRAME_DELAY_MS = 120; // after the last of the frames that a drag passes through

/** A question and its answer. */
abstract class AnsweredQuestion {
  protected readonly heed = heeding();
  answer: Answered | null = null;
  trouble = ""; // why there is no answer, in a sentence
  waiting = ""; // what is said while an answer takes long
  private late: ReturnType<typeof setTimeout> | undefined;
  onChange: () => void = () => {};
  protected asker = new Asker();
  private about = { url: "", view: "", live: false }; // what the last question was asked of
  private before: Answered | null = null; // the answer that the next one goes on from
  protected later = false; // the net could not answer yet
  private waits = false;
  private asked = -1; // at this snapshot
  private tries = 0; // of the question that is asked now, before
  private retry: ReturnType<typeof setTimeout> | undefined;
  /** The newest step that a map has shown of the run. */
  newest = -1;

  /** Ask again at a newer snapshot of a net that trains. */
  follow(source: QuerySource): void {
    const { newest, answer } = this;
    if (!source.live || !this.about.url || this.waits || newest <= Math.max(this.asked, answer?.step ?? -1)) return;
    if (!answer && !this.later) return;
    this.asked = newest;
    this.before = this.answer;
    this.again(source, false);
  }

  /** What is asked about, to be kept; null without an answer, or while another picture is on its way. */
  abstract get keepable(): Keepable | null;

  /** Ask again, as the gallery has changed. */
  askAgain(source: QuerySource): void {
    if (this.about.url) this.again(source, false);
  }

  /** Ask again where another run is shown, a map that was finished since, or the end of a training. */
  refresh(source: QuerySource): void {
    const { url, view, live } = this.about;
    if (!url) return;
    const lacks = source.view && source.view !== view && this.answer && !(source.view in this.answer.places.views);
    const elsewhere = url !== source.url;
    if (elsewhere) this.asked = -1;
    if (!elsewhere && !lacks && !(live && !source.live)) return;
    this.about = { url: source.url, view: source.view, live: source.live };
    this.again(source, elsewhere);
  }

  protected abstract again(source: QuerySource, elsewhere: boolean): void;

  protected async ask(
    source: QuerySource,
    question: Question,
    options: { frame?: Frame | null; returns?: boolean },
    take: (answer: QueryAnswer | null, picture?: string, trouble?: string) => void,
  ): Promise<void> {
    this.about = { url: source.url, view: source.view, live: source.live };
    const { before, tries } = this;
    this.before = null;
    this.tries = 0;
    clearTimeout(this.retry);
    this.later = source.live && this.newest < 0 && !(question instanceof Blob);
    if (this.later) {
      take(null, undefined, "It is asked at the first snapshot.");
      return this.onChange();
    }
    this.waits = true;
    clearTimeout(this.late);
    this.late = setTimeout(() => this.say("Finding its neighbors …"), LATE_MS);
    let lacks = false;
    try {
      const answer = await this.asker.ask(source.url, question, options);
      if (!answer) return; // a newer one waits
      this.trouble = "";
      this.later = false;
      lacks = source.view !== "" && !(source.view in answer.places.views);
      take(wentOn(before, answer), answer.picture);
    } catch (error) {
      this.later = error instanceof Refused && error.later;
      take(null, error instanceof Refused ? error.picture : undefined, messageOf(error));
    }
    this.waits = false;
    clearTimeout(this.late);
    if (!source.live && (lacks || this.later) && tries < MOST_TRIES)
      this.retry = setTimeout(
        () => {
          this.tries = tries + 1;
          this.again(source, false);
        },
        AGAIN_MS * 2 ** tries,
      );
    this.say("");
  }

  private say(words: string): void {
    this.waiting = words;
    this.onChange();
  }

  protected forget(): void {
    this.asker.stop();
    clearTimeout(this.late);
    clearTimeout(this.retry);
    this.waiting = "";
    this.about = { url: "", view: "", live: false };
    this.waits = this.later = false;
    this.answer = null;
    this.trouble = "";
  }
}

/** An answer while a net trains, with the earlier ones about the same picture, and the places that they had. */
export function wentOn(before: Answered | null, answer: Answered): Answered {
  if (answer.step !== undefined) {
    if (before) answer.earlier = [...(before.earlier ?? []), before];
    for (const [view, way] of Object.entries(answer.places.ways)) {
      const earlier = before?.places.ways[view]?.filter(([step]) => step < way[0][0]) ?? [];
      answer.places.ways[view] = [...earlier, ...way];
    }
  }
  return answer;
}

export class DrawingQuestion extends AnsweredQuestion {
  private drawing: Drawing | null = null;

  send(source: QuerySource, drawing: Drawing | null): void {
    this.drawing = drawing;
    if (drawing) return this.heed(this.put(source, drawing));
    this.forget();
    this.onChange();
  }

  get keepable(): Keepable | null {
    return this.answer && this.drawing && { question: { drawing: this.drawing } };
  }

  protected again(source: QuerySource): void {
    if (this.drawing && !source.undrawn) this.heed(this.put(source, this.drawing));
  }

  private put(source: QuerySource, drawing: Drawing): Promise<void> {
    return this.ask(source, { drawing }, {}, (answer, _picture, trouble = "") => {
      this.answer = answer;
      this.trouble = trouble;
    });
  }
}

interface Picture extends FramedPicture {
  name: string;
  origin: Question; // what was chosen
  small: Blob; // what the server made of it, which travels with the next frame
}

export class PictureQuestion extends AnsweredQuestion {
  picture: Picture | null = null;
  busy = ""; // the name of what is on its way
  private timer: ReturnType<typeof setTimeout> | undefined;
  private unsent: [origin: Question, name: string, frame: Frame | null] | null = null; // which did not arrive

  /** Ask about another picture. The one before stays where this one cannot be read. */
  async send(source: QuerySource, origin: Question, name: string, frame: Frame | null = null): Promise<void> {
    clearTimeout(this.timer);
    this.busy = name;
    this.trouble = "";
    this.onChange();
    await this.ask(source, origin, { frame, returns: true }, (answer, picture, trouble) => {
      this.busy = "";
      this.unsent = this.later ? [origin, name, frame] : null;
      if (trouble) this.trouble = `${name}: ${trouble}`;
      if (picture) this.adopt(name, origin, picture, answer, frame);
    });
  }

  /** Cut something else out of the picture. */
  reframe(source: QuerySource, frame: Frame): void {
    const { picture } = this;
    if (!picture) return;
    [picture.frame, this.unsent] = [frame, null];
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.askSmall(source), REFRAME_DELAY_MS);
  }

  remove(): void {
    clearTimeout(this.timer);
    if (this.picture) URL.revokeObjectURL(this.picture.url);
    this.picture = this.unsent = null;
    this.busy = "";
    this.forget();
    this.onChange();
  }

  get keepable(): Keepable | null {
    const { answer, picture, busy } = this;
    return busy ? null : answer && picture && { question: picture.small, frame: picture.frame };
  }

  protected again(source: QuerySource, elsewhere: boolean): void {
    const { picture, unsent } = this;
    if (unsent) return this.heed(this.send(source, ...unsent));
    if (!picture) return;
    if (elsewhere) this.heed(this.send(source, picture.origin, picture.name, picture.frame));
    else this.askSmall(source);
  }

  private askSmall(source: QuerySource): void {
    const { picture } = this;
    if (!picture) return;
    this.heed(
      this.ask(source, picture.small, { frame: picture.frame }, (answer, _picture, trouble = "") => {
        this.answer = answer;
        this.trouble = trouble;
      }),
    );
  }

  private adopt(name: string, origin: Question, text: string, answer: QueryAnswer | null, own: Frame | null): void {
    if (this.picture) URL.revokeObjectURL(this.picture.url);
    const small = new Blob([decodeBase64(text)]);
    const [frame, frames] = [answer?.frame ?? own, answer?.frames ?? []];
    this.picture = { name, origin, small, url: URL.createObjectURL(small), frame, frames };
    this.answer = answer;
  }
}
