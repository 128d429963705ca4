/**
 * Keeps the last pictures of our widgets in the notebook's file, so that it shows them without a kernel.
 *
 * JupyterLab saves widgets only where a person has switched that on. Pictures of the workbench are results, as a
 * plot is, so they are saved with the notebook in any case; widgets of others are left as they were.
 */
import type { Signal } from './kernel';

const MIME = 'application/vnd.jupyter.widget-state+json';
const OURS = /^workbench\./;
const REFERENCE = /IPY_MODEL_([0-9a-zA-Z-]+)/g;

/** The state of one widget as it is saved. */
interface Entry {
  readonly state: { readonly _anywidget_id?: unknown };
}

interface Saved {
  readonly version_major: number;
  readonly version_minor: number;
  readonly state: Readonly<Record<string, Entry>>;
}

/** What JupyterLab's widget manager has, and others need not. */
export interface Manager {
  readonly context?: {
    readonly saveState?: Signal<string>;
    readonly model?: {
      getMetadata?(name: string): unknown;
      setMetadata?(name: string, value: unknown): void;
    };
  };
  // There is no public way to ask whether JupyterLab saves widgets.
  readonly _settings?: { readonly saveState?: boolean };
  get_state_sync?(options: { drop_defaults: boolean }): Saved;
}

/** The widgets of the workbench, with everything that they refer to. */
export function ours(state: Saved['state']): Record<string, Entry> {
  const found: Record<string, Entry> = {};
  const waiting = Object.keys(state).filter(id => OURS.test(String(state[id]?.state._anywidget_id ?? '')));
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const entry = state[id];
    if (entry && !(id in found)) {
      found[id] = entry;
      // The module is long and refers to nothing.
      const text = JSON.stringify(entry.state, (key, value: unknown) => (key === '_esm' ? undefined : value));
      waiting.push(...[...text.matchAll(REFERENCE)].map(match => match[1] as string));
    }
  }
  return found;
}

function store(manager: Manager): void {
  const model = manager.context?.model;
  if (manager._settings?.saveState || !manager.get_state_sync || !model?.setMetadata || !model.getMetadata) {
    return; // the manager saves all widgets itself, or has no place for them
  }
  const now = manager.get_state_sync({ drop_defaults: true });
  const kept = (model.getMetadata('widgets') ?? {}) as Record<string, Saved | undefined>;
  const others = Object.entries(kept[MIME]?.state ?? {}).filter(
    ([, entry]) => !OURS.test(String(entry.state._anywidget_id ?? ''))
  );
  const state = { ...Object.fromEntries(others), ...ours(now.state) };
  model.setMetadata('widgets', { ...kept, [MIME]: { ...now, state } });
}

/** Saves our widgets whenever the notebook of `manager` is saved. */
export function keepPictures(manager: Manager | undefined): void {
  // By name, in the whole page: each widget comes with a copy of this module.
  const key = Symbol.for('workbench.kept');
  const page = globalThis as unknown as Record<symbol, WeakSet<Manager> | undefined>;
  const known = (page[key] ??= new WeakSet());
  if (manager?.context?.saveState && !known.has(manager)) {
    known.add(manager);
    manager.context.saveState.connect((_sender, phase) => {
      if (phase === 'started') {
        store(manager);
      }
    });
  }
}
