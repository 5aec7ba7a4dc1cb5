// Which view of a run is shown, so that a person's choice of another one can be taken back: by its name, "live" or the ID
// of a projection. Python draws it.

export class ViewChoice {
  /** The view that Python sent last. */
  private shown: string | null = null;
  /** What this map has asked for: a view, or (true) one whose name only Python knows. */
  private asked: string | true | null = null;

  /** Ask Python for a view. */
  constructor(private ask: (view: string) => void) {}

  /** The view that is shown, or will be as soon as Python has it. */
  get current(): string | null {
    return typeof this.asked === "string" ? this.asked : this.shown;
  }

  /** The map asks for another view by itself, which is no new choice when it comes. */
  expect(): void {
    this.asked = true;
  }

  /** Bring back what was shown before. */
  restore(view: string | null): void {
    if (view === null || view === this.current) return;
    this.asked = view;
    this.ask(view);
  }

  /** Another run is shown, whose views are others. */
  clear(): void {
    this.shown = this.asked = null;
  }

  /** Whether a view that Python sends is a person's new choice, made beside the map. Call `arrive` once that is recorded. */
  isChosen(view: string): boolean {
    return this.shown !== null && view !== this.shown && this.asked === null;
  }

  arrive(view: string): void {
    if (view !== this.shown) this.asked = null;
    this.shown = view;
  }
}
