// Questions to the server about a loss: one under way at a time; of those that come meanwhile only the newest waits.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { heeding } from "../lib/boundary.ts";
import { messageOf } from "../lib/format.ts";
import { fetchJson } from "../lib/server.ts";

export class NewestQuestion<Question, Answer> {
  private readonly heed = heeding();
  private asking = false;
  private waiting: [string, Question] | null = null;
  private over = false;

  /** `onanswer` receives every answer with its question, `onerror` the reason of a failure. */
  constructor(
    private onanswer: (answer: Answer, question: Question) => void,
    private onerror: (why: string) => void,
    private fetch: (url: string, what: string, question: Question) => Promise<Answer> = fetchJson,
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
      const tell = await this.fetch(url, "The answer", question).then(
        (answer) => () => this.onanswer(answer, question),
        (error: unknown) => () => this.onerror(messageOf(error)),
      );
      this.asking = false;
      if (!this.over) tell();
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
