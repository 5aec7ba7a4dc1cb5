// What a person asks about, and what came of it: a drawing, or a picture with its frame. They outlive the panel that
// shows them, since switching a page unmounts it, and a drawing or file should not be lost.
import { heeding } from "../../lib/boundary.ts";
import type { Drawing, QueryAnswer, QuerySource } from "../../protocol.ts";
import { decodeBase64 } from "../../lib/base64.ts";
import { messageOf } from "../../lib/format.ts";
import { Asker, Refused, type Question } from "./askServer.ts";
import type { FramedPicture } from "./frameEditor.tsx";
import type { Frame } from "./frameGeometry.ts";

const REFRAME_DELAY_MS = 120; // after the last of the frames that a drag passes through

/** A question and its answer. */
abstract class AnsweredQuestion {
  protected readonly heed = heeding();
  answer: QueryAnswer | null = null;
  trouble = ""; // why there is no answer, in a sentence
  onChange: () => void = () => {};
  protected asker = new Asker();
  private about = { url: "", view: "", live: false }; // what the last question was asked of
  private before: QueryAnswer | null = null; // the answer that the next one goes on from
  private later = false; // the net could not answer yet
  private waits = false;
  private asked = -1; // at this snapshot
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
    const { before } = this;
    this.before = null;
    this.later = source.live && this.newest < 0 && !(question instanceof Blob);
    if (this.later) {
      take(null, undefined, "It is asked at the first snapshot.");
      return this.onChange();
    }
    this.waits = true;
    try {
      const answer = await this.asker.ask(source.url, question, options);
      if (!answer) return; // a newer one waits
      this.trouble = "";
      take(wentOn(before, answer), answer.picture);
    } catch (error) {
      this.later = error instanceof Refused && error.later;
      take(null, error instanceof Refused ? error.picture : undefined, messageOf(error));
    }
    this.waits = false;
    this.onChange();
  }

  protected forget(): void {
    this.asker.stop();
    this.about = { url: "", view: "", live: false };
    this.waits = this.later = false;
    this.answer = null;
    this.trouble = "";
  }
}

/** An answer while a net trains, with the places that an earlier one about the same picture had. */
function wentOn(before: QueryAnswer | null, answer: QueryAnswer): QueryAnswer {
  if (answer.step !== undefined)
    for (const [view, way] of Object.entries(answer.places.ways)) {
      const earlier = before?.places.ways[view]?.filter(([step]) => step < way[0][0]) ?? [];
      answer.places.ways[view] = [...earlier, ...way];
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

  /** Ask about another picture. The one before stays where this one cannot be read. */
  async send(source: QuerySource, origin: Question, name: string, frame: Frame | null = null): Promise<void> {
    clearTimeout(this.timer);
    this.busy = name;
    this.trouble = "";
    this.onChange();
    await this.ask(source, origin, { frame, returns: true }, (answer, picture, trouble) => {
      this.busy = "";
      if (trouble) this.trouble = `${name}: ${trouble}`;
      if (picture) this.adopt(name, origin, picture, answer, frame);
    });
  }

  /** Cut something else out of the picture. */
  reframe(source: QuerySource, frame: Frame): void {
    const { picture } = this;
    if (!picture) return;
    picture.frame = frame;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.askSmall(source), REFRAME_DELAY_MS);
  }

  remove(): void {
    clearTimeout(this.timer);
    if (this.picture) URL.revokeObjectURL(this.picture.url);
    this.picture = null;
    this.busy = "";
    this.forget();
    this.onChange();
  }

  protected again(source: QuerySource, elsewhere: boolean): void {
    const { picture } = this;
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
