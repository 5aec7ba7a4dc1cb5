// Questions to the server about a loss: one under way at a time; of those that come meanwhile only the newest waits.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { heeding } from "../lib/boundary.ts";
import { fetchServer } from "../lib/server.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Pick<Response, "ok" | "json">>;

export class NewestQuestion<Question, Answer> {
  private readonly heed = heeding();
  private asking = false;
  private waiting: [string, Question] | null = null;
  private over = false;

  /** `onanswer` receives every answer with its question, `onerror` the reason of a failure. */
  constructor(
    private onanswer: (answer: Answer, question: Question) => void,
    private onerror: (why: string) => void,
    private fetch: Fetch = fetchServer,
  ) {}

  /** True if no question is under way. */
  get idle(): boolean {
    return !this.asking;
  }

  ask(url: string, question: Question): void {
    this.waiting = [url, question];
    if (!this.asking) this.heed(this.next());
  }

  close(): void {
    this.over = true;
    this.waiting = null;
  }

  private async next(): Promise<void> {
    while (this.waiting && !this.over) {
      const [url, question] = this.waiting;
      this.waiting = null;
      this.asking = true;
      const answer = await this.answerTo(url, question);
      this.asking = false;
      if (this.over) return;
      if ("error" in answer) this.onerror(answer.error);
      else this.onanswer(answer.value, question);
    }
  }

  private async answerTo(url: string, question: Question): Promise<{ value: Answer } | { error: string }> {
    try {
      const response = await this.fetch(url, { method: "POST", body: JSON.stringify(question) });
      const json = (await response.json()) as Answer & { error?: string };
      return response.ok ? { value: json } : { error: json.error ?? "The server has no answer." };
    } catch {
      return { error: "The server cannot be reached." };
    }
  }
}

/** What asks such questions for a panel, as long as that is there. */
export function useNewest<Question, Answer>(
  onanswer: (answer: Answer, question: Question) => void,
  onerror: (why: string) => void,
): (url: string, question: Question) => void {
  const newest = useRef({ onanswer, onerror });
  newest.current = { onanswer, onerror };
  const questions = useMemo(
    () =>
      new NewestQuestion<Question, Answer>(
        (answer, question) => newest.current.onanswer(answer, question),
        (why) => newest.current.onerror(why),
      ),
    [],
  );
  useLayoutEffect(() => () => questions.close(), []);
  return (url, question) => questions.ask(url, question);
}
