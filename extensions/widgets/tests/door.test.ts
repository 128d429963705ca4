import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Host, Mount } from '../../views/src/host';
import { door } from '../src/shared/door';
import { KernelLink } from '../src/shared/link';
import { FakeKernel, settle } from './fake';

type Callback = (...values: never[]) => void;

let host: Host<object>;
let drawn: unknown[];
const mount: Mount<object, object> = (_root, given) => {
  host = given;
  return {
    update: state => drawn.push(state),
    resize: () => undefined,
    destroy: () => drawn.push('destroyed')
  };
};

class FakeModel {
  readonly sent: unknown[] = [];
  readonly callbacks = new Map<string, Callback>();
  widget_manager?: { kernel?: FakeKernel | null };
  traits: Record<string, unknown> = {
    view: 'histogram',
    view_model: 'histogram-1',
    kernel: 'process 1',
    version: 6,
    state: { head: { live: true, updated: 5 } },
    buffers: []
  };

  get(name: string): never {
    return this.traits[name] as never;
  }

  on(name: string, callback: Callback): void {
    this.callbacks.set(name, callback);
  }

  off(name: string): void {
    this.callbacks.delete(name);
  }

  send(content: unknown): void {
    this.sent.push(content);
  }
}

function show(model: FakeModel): { el: HTMLElement; end: () => void } {
  const el = document.createElement('div');
  return { el, end: door(mount).render({ model, el } as never) };
}

beforeEach(() => {
  drawn = [];
});

afterEach(() => sessionStorage.clear());

describe('door', () => {
  it('draws state and buffers of one message together, and lets everything go', async () => {
    const model = new FakeModel();
    const { end } = show(model);
    model.traits['state'] = { head: {}, nodes: 3 };
    model.traits['change'] = { head: { live: false } };
    model.callbacks.get('change:state')?.();
    model.callbacks.get('change:change')?.();
    model.callbacks.get('change:buffers')?.();
    await settle();
    expect(drawn).toEqual([{ head: { live: true, updated: 5 } }, { head: { live: false }, nodes: 3 }]);
    end();
    expect(drawn.at(-1)).toBe('destroyed');
    expect(model.callbacks.size).toBe(0);
  });

  it('sends through the link of the kernel that made the picture', async () => {
    const model = new FakeModel();
    const kernel = new FakeKernel();
    model.widget_manager = { kernel };
    show(model);
    await settle();
    kernel.welcome();
    expect(host.status).toEqual({ kind: 'live' });
    const answer = host.send({ type: 'undo' });
    await settle();
    expect(kernel.said.at(-1)?.data).toMatchObject({
      type: 'event',
      model: 'histogram-1',
      event: { type: 'undo' }
    });
    kernel.answerAll();
    expect(await answer).toEqual({ accepted: true, reason: '' });
    expect(model.sent).toEqual([]);
  });

  it('asks nothing of another process than the one that made the picture', async () => {
    const model = new FakeModel();
    const kernel = new FakeKernel();
    model.widget_manager = { kernel };
    show(model);
    await settle();
    const told: unknown[] = [];
    host.onStatus(status => told.push(status));
    kernel.welcome('process 2');
    expect(told).toEqual([{ kind: 'disconnected', reason: 'kernel restarted' }]);
    await expect(host.send({ type: 'undo' })).rejects.toThrow('kernel restarted; run the cell again');
    expect(kernel.said.filter(one => one.data['type'] === 'event')).toEqual([]);
  });

  it('hears the selection of the kernel that is there now, though it was mounted without one', async () => {
    const model = new FakeModel();
    const slots = new Set<(sender: unknown, value: unknown) => void>();
    const kernelChanged = { connect: slots.add.bind(slots), disconnect: slots.delete.bind(slots) };
    const manager: Record<string, unknown> = { kernel: null, context: { sessionContext: { kernelChanged } } };
    model.widget_manager = manager;
    const { end } = show(model);
    const heard: unknown[] = [];
    host.onSelect?.(selection => heard.push(selection));
    const [first, second] = [new FakeKernel(), new FakeKernel()];
    for (const kernel of [first, second]) {
      manager['kernel'] = kernel;
      slots.forEach(slot => slot(null, null));
    }
    await settle();
    KernelLink.of(first as never).selection.emit({ node: 'of the kernel before' }, null);
    KernelLink.of(second as never).selection.emit({ node: 'conv1' }, null);
    expect(heard).toEqual([{ node: 'conv1' }]);
    end();
    KernelLink.of(second as never).selection.emit({ node: 'conv2' }, null);
    expect(heard).toHaveLength(1);
  });

  it('keeps its picture without a kernel', async () => {
    const model = new FakeModel();
    model.widget_manager = { kernel: null };
    show(model);
    expect(drawn).toHaveLength(1);
    expect(host.status).toEqual({ kind: 'disconnected', reason: 'no kernel' });
    await expect(host.send({ type: 'undo' })).rejects.toThrow('no kernel; run the cell again');
  });

  it('uses its own comm where the front end hides the kernel', async () => {
    const model = new FakeModel();
    model.traits['state'] = { head: { live: false, updated: 5 } };
    show(model);
    expect(host.status).toEqual({ kind: 'stale', since: 5000 });
    const answer = host.send({ type: 'undo' });
    expect(model.sent).toEqual([
      {
        type: 'event',
        version: 6,
        sender: expect.any(String),
        number: 1,
        oldest: 1,
        model: 'histogram-1',
        event: { type: 'undo' }
      }
    ]);
    const { sender, number } = model.sent[0] as { sender: string; number: number };
    model.callbacks.get('msg:custom')?.({
      type: 'reply',
      sender,
      number,
      accepted: false,
      reason: 'no'
    } as never);
    expect(await answer).toEqual({ accepted: false, reason: 'no' });
  });

  it('lets a gesture wait while a reloaded page finds its kernel, and while the connection is lost', async () => {
    const model = new FakeModel();
    const kernel = new FakeKernel();
    model.widget_manager = { kernel };
    show(model);
    const early = host.send({ type: 'undo' });
    await settle();
    expect(kernel.said.filter(one => one.data['type'] === 'event')).toEqual([]);
    kernel.welcome();
    kernel.answerAll();
    expect(await early).toEqual({ accepted: true, reason: '' });
    kernel.connectionStatusChanged.emit('disconnected');
    const late = host.send({ type: 'redo' });
    kernel.connectionStatusChanged.emit('connected');
    await settle();
    kernel.welcome();
    kernel.answerAll();
    expect(await late).toEqual({ accepted: true, reason: '' });
  });

  it('says so if the picture is of another version', () => {
    const model = new FakeModel();
    model.traits['version'] = 7;
    const { el } = show(model);
    expect(el.textContent).toContain(
      'another version of the workbench (its messages are version 7, these are 6)'
    );
    expect(drawn).toEqual([]);
  });
});
