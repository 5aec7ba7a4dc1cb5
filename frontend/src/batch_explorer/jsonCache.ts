// Answers of the server by address: each asked for once, the newest question first.
import { useMemo, useState } from "preact/hooks";
import { heeding } from "../lib/boundary.ts";
import { fetchServer } from "../lib/server.ts";

/** An answer, or why there is none. */
export type Answer<T> = T | { error: string };

type Fetch = (url: string) => Promise<Pick<Response, "ok" | "json">>;

/** Requests JSON and keeps the last answers; `onanswer` is called when one arrives. */
export class JsonCache<T> {
  private readonly heed = heeding();
  private answers = new Map<string, Answer<T>>();
  private asking: string | null = null;
  private next: string | null = null;
  private fetch: Fetch;
  private capacity: number;

  constructor(
    private onanswer: (url: string, answer: Answer<T>) => void,
    { fetch = fetchServer, capacity = 80 }: { fetch?: Fetch; capacity?: number } = {},
  ) {
    this.fetch = fetch;
    this.capacity = capacity;
  }

  /** The answer at `url` if it is here, else null, and it is asked for; of several questions only the last one waits. */
  get(url: string): Answer<T> | null {
    const answer = this.answers.get(url);
    if (answer) return answer;
    if (this.asking === null) this.heed(this.ask(url));
    else if (this.asking !== url) this.next = url;
    return null;
  }

  private async ask(url: string): Promise<void> {
    this.asking = url;
    let answer: Answer<T>;
    try {
      const response = await this.fetch(url);
      const json = (await response.json()) as T & { error?: string };
      answer = response.ok ? json : { error: json.error ?? "The server sent no answer." };
    } catch {
      answer = { error: "The server cannot be reached." };
    }
    this.answers.set(url, answer);
    if (this.answers.size > this.capacity) this.answers.delete(this.answers.keys().next().value as string);
    const next = this.next;
    this.asking = this.next = null;
    if (next && !this.answers.has(next)) this.heed(this.ask(next));
    this.onanswer(url, answer);
  }
}

/** The answers about one thing, `scope`; drawn anew when one arrives. */
export function useJson<T>(scope: string): JsonCache<T> {
  const [, setCount] = useState(0);
  return useMemo(() => new JsonCache<T>(() => setCount((count) => count + 1)), [scope]);
}
