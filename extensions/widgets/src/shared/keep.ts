/**
 * Keeps the last pictures of our widgets in the notebook's file, so that it shows them without a kernel.
 *
 * JupyterLab saves widgets only where a person has switched that on. Pictures of the workbench are results, as a
 * plot is, so they are saved with the notebook in any case; widgets of others are left as they were. The manager
 * tells only of widgets whose kernel lives: of one that came from the file, or whose kernel was restarted, the last
 * picture stays as long as an output shows it.
 */
import type { Signal } from './kernel';

const MIME = 'application/vnd.jupyter.widget-state+json';
const OURS = /^workbench\./;
const VIEW = 'application/vnd.jupyter.widget-view+json';
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

/** A cell, as far as its outputs matter; cells of text have none. */
interface Cell {
  readonly outputs?: {
    readonly length: number;
    get(index: number): { readonly data: Readonly<Record<string, unknown>> };
  };
}

/** What JupyterLab's widget manager has, and others need not. */
export interface Manager {
  readonly context?: {
    readonly saveState?: Signal<string>;
    readonly sessionContext?: { readonly statusChanged?: Signal<string> };
    readonly model?: {
      readonly cells?: Iterable<Cell>;
      getMetadata?(name: string): unknown;
      setMetadata?(name: string, value: unknown): void;
    };
  };
  // There is no public way to ask whether JupyterLab saves widgets.
  readonly _settings?: { readonly saveState?: boolean };
  get_state_sync?(options: { drop_defaults: boolean }): Saved;
  get_state?(options: { drop_defaults: boolean }): Promise<Saved>;
}

/** The widgets of the workbench, or those of them that are among `shown`, with everything that they refer to. */
export function ours(state: Saved['state'], shown?: ReadonlySet<string>): Record<string, Entry> {
  const found: Record<string, Entry> = {};
  const waiting = Object.keys(state).filter(
    id => OURS.test(String(state[id]?.state._anywidget_id ?? '')) && (shown?.has(id) ?? true)
  );
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

/** Identities of the widgets that the outputs of a notebook show. */
function shownIn(cells: Iterable<Cell>): Set<string> {
  const ids = new Set<string>();
  for (const { outputs } of cells) {
    for (let index = 0; index < (outputs?.length ?? 0); index++) {
      const view = outputs?.get(index).data[VIEW] as { readonly model_id?: string } | undefined;
      if (view?.model_id) {
        ids.add(view.model_id);
      }
    }
  }
  return ids;
}

function store(manager: Manager, last: Saved['state']): void {
  const model = manager.context?.model;
  if (manager._settings?.saveState || !manager.get_state_sync || !model?.setMetadata || !model.getMetadata) {
    return; // the manager saves all widgets itself, or has no place for them
  }
  const now = manager.get_state_sync({ drop_defaults: true });
  const kept = (model.getMetadata('widgets') ?? {}) as Record<string, Saved | undefined>;
  const before = kept[MIME]?.state ?? {};
  const others = Object.entries(before).filter(
    ([, entry]) => !OURS.test(String(entry.state._anywidget_id ?? ''))
  );
  const shown = shownIn(model.cells ?? []);
  const state = {
    ...Object.fromEntries(others),
    ...ours(before, shown),
    ...ours(last, shown),
    ...ours(now.state)
  };
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
    let last: Saved['state'] = {};
    manager.context.saveState.connect((_sender, phase) => {
      if (phase === 'started') {
        store(manager, last);
      }
    });
    manager.context.sessionContext?.statusChanged?.connect((_sender, status) => {
      if (status === 'restarting') {
        void manager.get_state?.({ drop_defaults: true }).then(saved => (last = { ...last, ...saved.state }));
      }
    });
  }
}
