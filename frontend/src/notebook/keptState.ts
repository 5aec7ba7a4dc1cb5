// JupyterLab keeps the state of widgets in a notebook only where a setting says so, and then shows "model not found" for
// all others when the notebook is opened again. So the maps keep theirs: with each save, under the key from which
// JupyterLab restores widgets. Hosts that have no such manager (VS Code, Colab, marimo) are left alone.

const KEY = "widgets";
const STATE = "application/vnd.jupyter.widget-state+json";
const VIEW = "application/vnd.jupyter.widget-view+json";
const OURS = "dmlviz.notebook.widget.MapWidget"; // what anywidget calls its class
const REFERENCE = "IPY_MODEL_"; // before the ID of another model, as that of the layout

interface Entry {
  state: Record<string, unknown>;
}
interface States {
  version_major: number;
  version_minor: number;
  state: Record<string, Entry>;
}
interface Output {
  data?: { [VIEW]?: { model_id: string } };
}

/** What is used of JupyterLab's manager of widgets, and of the notebook that it belongs to. */
export interface Manager {
  get_state_sync(options: { drop_defaults: boolean }): States;
  context: {
    model: {
      toJSON(): unknown;
      getMetadata(key: string): unknown;
      setMetadata(key: string, value: unknown): void;
    };
    saveState: { connect(slot: (sender: unknown, state: string) => void): void };
  };
}

const kept = Symbol.for("dmlviz.kept"); // each widget has this script of its own; a notebook needs it once

/** Keep the finished maps of the widget's notebook in it; what is returned does so at once. */
export function keepIn(manager?: Partial<Manager> & { [kept]?: true }): () => void {
  if (!manager?.get_state_sync || !manager.context?.saveState) return () => {};
  const keep = () => write(manager as Manager);
  if (!manager[kept]) {
    manager[kept] = true;
    manager.context.saveState.connect((_, state) => {
      if (state === "started") keep();
    });
  }
  return keep;
}

function write(manager: Manager): void {
  const notebook = manager.context.model;
  const before = notebook.getMetadata(KEY) as { [STATE]?: States } | undefined;
  const live = manager.get_state_sync({ drop_defaults: true });
  const after = merged(before?.[STATE]?.state ?? {}, live.state, shownIn(notebook.toJSON()));
  if (JSON.stringify(after) === JSON.stringify(before?.[STATE]?.state ?? {})) return;
  notebook.setMetadata(KEY, { ...before, [STATE]: { ...live, state: after } });
}

/** The IDs of the models that the notebook's outputs show. */
export function shownIn(notebook: unknown): Set<string> {
  const { cells } = notebook as { cells: { outputs?: Output[] }[] };
  const ids = cells.flatMap((cell) => (cell.outputs ?? []).map((output) => output.data?.[VIEW]?.model_id));
  return new Set(ids.filter((id) => id !== undefined));
}

/** The states to keep: those of others as they were, and of our maps those that are shown and finished. */
export function merged(
  before: Record<string, Entry>,
  live: Record<string, Entry>,
  shown: Set<string>,
): Record<string, Entry> {
  const all = { ...before, ...live };
  const after = { ...before };
  for (const [id, { state }] of Object.entries(all)) {
    if (state._anywidget_id !== OURS) continue;
    const contents = state.contents as { near: unknown } | undefined;
    for (const name of [id, ...references(state)]) {
      if (shown.has(id) && contents?.near && all[name]) after[name] = all[name];
      else delete after[name];
    }
  }
  return after;
}

function references(state: Record<string, unknown>): string[] {
  const values = Object.values(state).filter((value) => typeof value === "string");
  return values.filter((value) => value.startsWith(REFERENCE)).map((value) => value.slice(REFERENCE.length));
}
