import { describe, expect, it } from 'vitest';
import type { Manager } from '../src/shared/keep';
import { keepPictures, ours } from '../src/shared/keep';
import { FakeSignal } from './fake';

const MIME = 'application/vnd.jupyter.widget-state+json';
const widget = (id: string, layout: string): { state: Record<string, unknown> } => ({
  state: { _anywidget_id: id, _esm: 'IPY_MODEL_trap', layout: `IPY_MODEL_${layout}` }
});

const STATE: Record<string, { state: Record<string, unknown> }> = {
  a: widget('workbench.widgets.tensor.TensorWidget', 'layout-1'),
  'layout-1': { state: { style: 'IPY_MODEL_deep' } },
  deep: { state: {} },
  trap: { state: {} },
  b: widget('somebody.else', 'layout-2'),
  'layout-2': { state: {} }
};

function notebook(
  metadata: Record<string, unknown>,
  saveState = false
): { saved: FakeSignal<string>; manager: Manager } {
  const saved = new FakeSignal<string>();
  const manager = {
    _settings: { saveState },
    context: {
      saveState: saved,
      model: {
        getMetadata: (name: string) => metadata[name],
        setMetadata: (name: string, value: unknown) => void (metadata[name] = value)
      }
    },
    get_state_sync: () => ({ version_major: 2, version_minor: 0, state: STATE })
  };
  return { saved, manager };
}

describe('keepPictures', () => {
  it('takes the widgets of the workbench and what they refer to', () => {
    expect(Object.keys(ours(STATE)).sort()).toEqual(['a', 'deep', 'layout-1']);
  });

  it('writes them when the notebook is saved, once however many widgets there are', () => {
    const metadata: Record<string, unknown> = {};
    const { saved, manager } = notebook(metadata);
    keepPictures(manager);
    keepPictures(manager);
    saved.emit('completed');
    expect(metadata).toEqual({});
    saved.emit('started');
    const kept = metadata['widgets'] as Record<string, { state: object; version_major: number }>;
    expect(kept[MIME]?.version_major).toBe(2);
    expect(Object.keys(kept[MIME]!.state).sort()).toEqual(['a', 'deep', 'layout-1']);
  });

  it('leaves what others have saved, and drops our old pictures', () => {
    const old = { c: widget('somebody.else', 'x'), d: widget('workbench.widgets.graph.GraphWidget', 'y') };
    const metadata: Record<string, unknown> = {
      widgets: { [MIME]: { version_major: 2, version_minor: 0, state: old } }
    };
    const { saved, manager } = notebook(metadata);
    keepPictures(manager);
    saved.emit('started');
    const kept = metadata['widgets'] as Record<string, { state: object }>;
    expect(Object.keys(kept[MIME]!.state).sort()).toEqual(['a', 'c', 'deep', 'layout-1']);
  });

  it('keeps what an output shows of a kernel that is gone, the latest picture', async () => {
    const entry = (picture: string): { state: Record<string, unknown> } => ({
      state: { _anywidget_id: 'workbench.widgets.graph.GraphWidget', picture }
    });
    const old = { shown: entry('old'), restarted: entry('old'), gone: entry('old') };
    const metadata: Record<string, unknown> = {
      widgets: { [MIME]: { version_major: 2, version_minor: 0, state: old } }
    };
    const { saved, manager } = notebook(metadata);
    const outputs = ['shown', 'restarted'].map(id => ({
      data: { 'application/vnd.jupyter.widget-view+json': { model_id: id } }
    }));
    const status = new FakeSignal<string>();
    const { context } = manager as { context: Record<string, unknown> };
    const cells = [{}, { outputs: { length: 2, get: (index: number) => outputs[index] } }];
    context['model'] = { ...(context['model'] as object), cells };
    context['sessionContext'] = { statusChanged: status };
    const now = { restarted: entry('last'), gone: entry('last') };
    Object.assign(manager, {
      get_state: () => Promise.resolve({ version_major: 2, version_minor: 0, state: now })
    });
    keepPictures(manager);
    status.emit('restarting');
    await Promise.resolve();
    saved.emit('started');
    const { state } = (metadata['widgets'] as Record<string, { state: typeof old }>)[MIME]!;
    expect(Object.keys(state).sort()).toEqual(['a', 'deep', 'layout-1', 'restarted', 'shown']);
    expect(state.shown.state['picture']).toBe('old');
    expect(state.restarted.state['picture']).toBe('last');
  });

  it('does nothing where all widgets are saved anyway', () => {
    const metadata: Record<string, unknown> = {};
    const { saved, manager } = notebook(metadata, true);
    keepPictures(manager);
    saved.emit('started');
    expect(metadata).toEqual({});
  });

  it('is content with managers that know nothing of notebooks', () => {
    expect(() => keepPictures(undefined)).not.toThrow();
    expect(() => keepPictures({})).not.toThrow();
  });
});
