// The recorded batches of a run, the one that is shown, and the server's answers about it.
import type { BatchAnswer, BatchTerms } from "../protocol.ts";
import { maxOf } from "../lib/extent.ts";
import { ROUTES } from "../lib/server.ts";
import { parseBatch, type LoadedBatch } from "./batch.ts";
import { JsonCache } from "./jsonCache.ts";

export class BatchLoader {
  /** Steps that have a batch. */
  steps: number[] = [];
  /** The step that is shown. */
  step: number | null = null;
  batch: LoadedBatch | null = null;
  error = "";
  /** True if a person chose the step. */
  private byHand = false;
  private isOver = false;
  /** True if the picture is that of the end. */
  private isFinal = false;
  private url = "";
  private answers: JsonCache<BatchAnswer>;
  private termAnswers: JsonCache<BatchTerms>;

  constructor(onanswer: () => void) {
    this.answers = new JsonCache<BatchAnswer>(onanswer);
    this.termAnswers = new JsonCache<BatchTerms>(onanswer);
  }

  reset(): void {
    this.steps = [];
    this.step = this.batch = null;
    this.url = this.error = "";
    this.byHand = this.isOver = this.isFinal = false;
    this.answers.clear();
    this.termAnswers.clear();
  }

  /** A batch was recorded. */
  add(step: number): void {
    this.steps.push(step);
  }

  /** Note that the run is over. */
  finish(): void {
    this.isOver = true;
  }

  /** Show the last batch up to the step that the map shows (null: the end), unless a person chose one. */
  follow(moment: number | null): void {
    if (this.byHand) return;
    const upTo = this.steps.filter((step) => step <= (moment ?? Infinity));
    this.step = (upTo.length ? maxOf(upTo) : this.steps[0]) ?? null;
  }

  /** The person moves the map: it leads again. */
  leave(): void {
    this.byHand = false;
  }

  /** True if the server has sent all that the run has. */
  settle(): void {
    this.isFinal = true;
  }

  choose(step: number): void {
    this.step = step;
    this.byHand = true;
  }

  /** The reason why there is no batch to show; empty if there is one, or if one is on its way. */
  get message(): string {
    if (this.error || this.steps.length) return this.error;
    return this.isOver ? "No recorded batches for this run." : "Waiting for the first batch …";
  }

  /** Load what is shown; returns "batch" or "terms" where that has just come. */
  load(run: string, begun: string | null): "batch" | "terms" | null {
    if (this.loadBatch(run, begun)) return "batch";
    return this.batch && this.loadTerms(this.batch, run, begun) ? "terms" : null;
  }

  /** Load the batch alone. */
  loadBatch(run: string, begun: string | null): boolean {
    if (this.step === null) return false;
    const url = `${ROUTES}/runs/${run}/batches/${this.step}.json?${begun}${this.isFinal ? "" : "-live"}`;
    if (url === this.url) return false;
    const answer = this.answers.get(url);
    if (!answer) return false;
    this.url = url;
    this.error = "error" in answer ? answer.error : "";
    this.batch = "error" in answer ? null : parseBatch(answer);
    if (this.batch) {
      const { sheet } = this.batch;
      this.batch.sheet = { ...sheet, urls: sheet.urls.map((image) => `${image}?${begun}`) };
    }
    return true;
  }

  private loadTerms(batch: LoadedBatch, run: string, begun: string | null): boolean {
    if (batch.terms || batch.termsError) return false;
    const answer = this.termAnswers.get(`${ROUTES}/runs/${run}/batches/${batch.step}/terms.json?${begun}`);
    if (!answer) return false;
    if ("error" in answer) batch.termsError = answer.error;
    else batch.terms = answer;
    return true;
  }
}
