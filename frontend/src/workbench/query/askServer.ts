// A question about a person's own picture, and the server's answer. Of two questions only the newer one is answered.
import type { QueryAnswer, QueryQuestion, QueryRefusal } from "../../protocol.ts";
import { fetchServer } from "../../lib/server.ts";
import { frameParameter, type Frame } from "./frameGeometry.ts";

export const MAX_MB = 30;

/** A drawing or a sample; or the file of a picture. */
export type Question = QueryQuestion | Blob;

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
    const body = question instanceof Blob ? question : JSON.stringify(question);
    const type = question instanceof Blob ? "application/octet-stream" : "application/json";
    const address = `${url}${frame ? `&frame=${frameParameter(frame)}` : ""}${returns ? "&picture=1" : ""}`;
    const init = { method: "POST", body, headers: { "Content-Type": type }, signal: under.signal };
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
      throw new Refused("The server did not answer; see whether it is still there, and try again.");
    }
  }

  /** Forget what is under way. */
  stop(): void {
    this.under?.abort();
    this.under = null;
  }
}
