// What the map has told Python, so that Python's echo is not taken for a wish of its own.
type Name = "pinned" | "selected" | "isolated" | "display";

export class SentState {
  /** What was told and has not come back. */
  private told: Record<Name, unknown[]> = { pinned: [], selected: [], isolated: [], display: [] };

  constructor(private sendState: (name: string, value: unknown) => void) {}

  /** Tell Python a value; `id` is how its echo is known again. */
  send(name: Name, value: unknown, id: unknown = value): void {
    this.told[name].push(id);
    this.sendState(name, value);
  }

  /** Whether what Python sends is its own: not an echo of one of ours that a later one has overtaken. */
  isExternalChange(name: Name, id: unknown): boolean {
    const told = this.told[name];
    const at = told.indexOf(id);
    this.told[name] = at < 0 ? [] : told.slice(at + 1);
    return !this.told[name].length;
  }
}
