// @ts-nocheck
// Answers of the server by address: each asked for once, the newest question first.

/** Asks for JSON and keeps the last answers; `onanswer` is told when one came. */
export class Answers {
  constructor(onanswer, { fetch = globalThis.fetch.bind(globalThis), kept = 80 } = {}) {
    Object.assign(this, { onanswer, fetch, kept, known: new Map(), asking: null, next: null });
  }

  /** The answer at `url` if it is here, else null, and it is asked for; of several questions only the last one waits. */
  get(url) {
    if (this.known.has(url)) return this.known.get(url);
    if (this.asking === null) this.ask(url);
    else if (this.asking !== url) this.next = url;
    return null;
  }

  async ask(url) {
    this.asking = url;
    let answer;
    try {
      const response = await this.fetch(url);
      answer = await response.json();
      if (!response.ok) answer = { error: answer.error ?? "The server has no answer." };
    } catch {
      answer = { error: "The server cannot be reached." };
    }
    if (this.asking !== url) return; // forgotten meanwhile
    this.known.set(url, answer);
    if (this.known.size > this.kept) this.known.delete(this.known.keys().next().value);
    const next = this.next;
    this.asking = this.next = null;
    if (next && !this.known.has(next)) this.ask(next);
    this.onanswer(url, answer);
  }

  forget() {
    this.known.clear();
    this.asking = this.next = null;
  }
}
