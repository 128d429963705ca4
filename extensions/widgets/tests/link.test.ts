import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ignoreThreads, type Told } from '../src/shared/kernel';
import { KernelLink } from '../src/shared/link';
import { FakeKernel, settle } from './fake';

const state = (model: string, order: number, view = 'histogram'): object => ({
  type: 'state',
  view,
  model,
  order,
  picture: 1,
  state: { head: { title: model } }
});

async function opened(): Promise<{ kernel: FakeKernel; link: KernelLink }> {
  const kernel = new FakeKernel();
  const link = KernelLink.of(kernel);
  await settle();
  kernel.welcome();
  return { kernel, link };
}

beforeEach(() => sessionStorage.clear());

describe("the kernel's status", () => {
  const status = (parent: object): Told => ({ header: { msg_type: 'status' }, parent_header: parent });
  const typeOf = (told: Told): string | undefined => {
    const kernel = new FakeKernel();
    ignoreThreads(kernel);
    kernel.anyMessage.emit({ msg: told });
    return told.parent_header.msg_type;
  };

  it('is that of the cells, whatever this or another page has asked of a thread beside them', () => {
    expect(typeOf(status({ msg_type: 'comm_msg', subshell_id: 'thread', session: 'another' }))).toBe(
      'comm_info_request'
    );
    expect(typeOf(status({ msg_type: 'create_subshell_request' }))).toBe('comm_info_request');
    expect(typeOf(status({ msg_type: 'debug_request' }))).toBe('comm_info_request');
    expect(typeOf(status({ msg_type: 'execute_request', subshell_id: null }))).toBe('execute_request');
    expect(typeOf(status({ msg_type: 'execute_request' }))).toBe('execute_request');
    expect(typeOf(status({}))).toBeUndefined();
    const printed = {
      header: { msg_type: 'stream' },
      parent_header: { msg_type: 'comm_msg', subshell_id: 'a' }
    };
    expect(typeOf(printed)).toBe('comm_msg');
  });

  describe('while a cell runs', () => {
    const CELL = { msg_id: '1', msg_type: 'execute_request' };
    const INFO = { msg_id: '2', msg_type: 'kernel_info_request' };
    const heard = (kernel: FakeKernel, parent: object, state: string): boolean => {
      const told = { ...status(parent), content: { execution_state: state } };
      kernel.anyMessage.emit({ msg: told });
      return told.parent_header.msg_type !== 'comm_info_request';
    };
    const running = (): FakeKernel => {
      const kernel = new FakeKernel();
      ignoreThreads(kernel);
      expect(heard(kernel, INFO, 'busy') && heard(kernel, INFO, 'idle')).toBe(true);
      expect(heard(kernel, CELL, 'busy')).toBe(true);
      return kernel;
    };

    it('is busy, whatever a server asks on the channel beside it for a page that comes', () => {
      const kernel = running();
      expect(heard(kernel, INFO, 'busy') || heard(kernel, INFO, 'idle')).toBe(false);
      expect(heard(kernel, CELL, 'busy')).toBe(true); // told once more
      expect(heard(kernel, CELL, 'idle')).toBe(true);
      expect(heard(kernel, INFO, 'busy') && heard(kernel, INFO, 'idle')).toBe(true);
    });

    it('is that of the next cell when its end was not heard', () => {
      const kernel = running();
      const next = { ...CELL, msg_id: '3' };
      expect(heard(kernel, next, 'busy') && heard(kernel, next, 'idle')).toBe(true);
      expect(heard(kernel, INFO, 'idle')).toBe(true);
    });

    it('is what the kernel says once it has started again', () => {
      const kernel = running();
      expect(heard(kernel, {}, 'restarting')).toBe(true);
      expect(heard(kernel, INFO, 'idle')).toBe(true);
    });

    it('is what the kernel says to a connection that was made anew', () => {
      const kernel = running();
      kernel.connectionStatusChanged.emit('connecting');
      expect(heard(kernel, INFO, 'idle')).toBe(true);
    });
  });

  it('is that of its own thread on a connection whose cells run in one', () => {
    const kernel = Object.assign(new FakeKernel(), { subshellId: 'mine' });
    ignoreThreads(kernel);
    const told = status({ msg_type: 'execute_request', subshell_id: 'mine' });
    kernel.anyMessage.emit({ msg: told });
    expect(told.parent_header.msg_type).toBe('execute_request');
  });
});

describe('KernelLink', () => {
  it('is one for each kernel', () => {
    const kernel = new FakeKernel();
    expect(KernelLink.of(kernel)).toBe(KernelLink.of(kernel));
    expect(KernelLink.of(kernel)).not.toBe(KernelLink.of(new FakeKernel()));
  });

  it('speaks only to a kernel that has imported the workbench', async () => {
    const kernel = new FakeKernel();
    kernel.present = false;
    const link = KernelLink.of(kernel);
    await settle();
    expect(link.status).toBe('absent');
    expect(kernel.said).toEqual([]);
    kernel.importWorkbench();
    await settle();
    expect(kernel.said.map(one => one.type)).toEqual(['comm_open']);
    kernel.welcome();
    expect([link.status, link.processId]).toEqual(['open', 'process 1']);
  });

  it('asks in a thread of its own, and again in the same one after a reload', async () => {
    const { kernel } = await opened();
    expect(kernel.said[0]).toMatchObject({
      type: 'comm_open',
      data: { type: 'hello', version: 6, views: [] }
    });
    expect(kernel.said[0]?.thread).toBe('thread-1');
    const reloaded = Object.assign(new FakeKernel(), { id: kernel.id });
    reloaded.threads.push('thread-1');
    KernelLink.of(reloaded);
    await settle();
    expect(reloaded.said[0]?.thread).toBe('thread-1');
    expect(reloaded.threads).toEqual(['thread-1']);
  });

  it('does not wait for a busy kernel to say what it can', async () => {
    const kernel = new FakeKernel();
    kernel.supportsSubshells = false;
    kernel.info = new Promise(() => undefined);
    KernelLink.of(kernel);
    await new Promise(resolve => setTimeout(resolve, 1700));
    expect(kernel.said[0]?.thread).toBe('thread-1');
  });

  it('uses the main thread of a kernel without others', async () => {
    const kernel = new FakeKernel();
    kernel.supportsSubshells = false;
    KernelLink.of(kernel);
    await settle();
    expect(kernel.said[0]).toMatchObject({ type: 'comm_open' });
    expect(kernel.said[0]?.thread).toBeUndefined();
    expect(kernel.threads).toEqual([]);
  });

  it('says which views are drawn, each once however many places draw it', async () => {
    const { kernel, link } = await opened();
    const ends = [link.watch('graph'), link.watch('graph')];
    ends[0]?.();
    ends[0]?.();
    expect(kernel.said.at(-1)?.data).toMatchObject({ type: 'hello', views: ['graph'] });
    ends[1]?.();
    expect(kernel.said.at(-1)?.data).toMatchObject({ type: 'hello', views: [] });
  });

  it('keeps the models of a view in order and forgets those that are gone', async () => {
    const { kernel, link } = await opened();
    kernel.write(state('b', 2), 'data');
    kernel.write(state('a', 1), 'data', [new Uint8Array([0, 1, 2, 3]).subarray(1)]);
    kernel.write(state('g', 3, 'graph'), 'data');
    expect(link.shown('histogram').map(one => one.model)).toEqual(['a', 'b']);
    const [view] = link.shown('histogram')[0]!.buffers;
    expect([view!.byteOffset % 8, view!.byteLength, view!.getUint8(0)]).toEqual([0, 3, 1]);
    kernel.write({ type: 'gone', model: 'b' }, 'data');
    expect(link.shown('histogram').map(one => one.model)).toEqual(['a']);
  });

  it('says with each hello which pictures it has, soon after an answer too', async () => {
    const { kernel, link } = await opened();
    kernel.write({ ...state('a', 1), picture: 7 }, 'data');
    vi.useFakeTimers();
    void link.request('a', { type: 'undo' });
    kernel.answerAll();
    await vi.advanceTimersByTimeAsync(1100);
    expect(kernel.said.at(-1)?.data).toMatchObject({ type: 'hello', have: { a: 7 } });
    vi.useRealTimers();
  });

  it('passes over views it does not know', async () => {
    const { kernel, link } = await opened();
    kernel.write(state('x', 1, 'hologram'), 'data');
    expect(link.shown('hologram' as never)).toEqual([]);
  });

  it('keeps the picture when no newer one could be made, and says so', async () => {
    const { kernel, link } = await opened();
    kernel.write(state('a', 1), 'data');
    kernel.write({ type: 'trouble', view: 'histogram', model: 'a', reason: 'no picture' }, 'data');
    expect(link.shown('histogram')).toMatchObject([
      { state: { head: { title: 'a' } }, trouble: 'no picture' }
    ]);
    kernel.write(state('a', 1), 'data');
    expect(link.shown('histogram')[0]?.trouble).toBe('');
  });

  it('changes a picture that is here, and asks for the whole where it is not', async () => {
    const { kernel, link } = await opened();
    const nodes = [{ id: 'relu' }];
    kernel.write({ ...state('g', 1, 'graph'), picture: 3, state: { nodes, selected: null } }, 'data');
    const change = {
      type: 'update',
      view: 'graph',
      model: 'g',
      order: 2,
      fields: { selected: 'relu' },
      kept: []
    };
    kernel.write({ ...change, picture: 4 }, 'data');
    const shown = link.shown('graph')[0]!;
    expect(shown).toMatchObject({ order: 2, picture: 4, state: { selected: 'relu' } });
    expect(shown.state!['nodes']).toBe(nodes);
    const before = kernel.said.length;
    kernel.write({ ...change, picture: 6, fields: { selected: null } }, 'data');
    kernel.write({ ...change, model: 'other', picture: 2 }, 'data');
    expect(link.shown('graph')).toMatchObject([{ picture: 4, state: { selected: 'relu' } }]);
    expect(kernel.said.slice(before)).toMatchObject([
      { data: { type: 'hello', have: { g: 4 } } },
      { data: { type: 'hello', have: { g: 4 } } }
    ]);
  });

  it('keeps the buffers that are here, and asks for the whole where one is not', async () => {
    const { kernel, link } = await opened();
    const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
    kernel.write({ ...state('g', 1, 'graph'), picture: 1 }, 'data', [bytes(1), bytes(2)]);
    const [first, second] = link.shown('graph')[0]!.buffers;
    const change = { type: 'update', view: 'graph', model: 'g', order: 1, fields: {} };
    kernel.write({ ...change, picture: 2, kept: [1, -1, 0] }, 'data', [bytes(3)]);
    const { buffers } = link.shown('graph')[0]!;
    expect([buffers[0], buffers[2]]).toEqual([second, first]);
    expect(buffers[0]).toBe(second);
    expect(buffers.map(view => view.getUint8(0))).toEqual([2, 3, 1]);
    const before = kernel.said.length;
    kernel.write({ ...change, picture: 3, kept: [7] }, 'data');
    kernel.write({ ...change, picture: 3, kept: [-1] }, 'data');
    expect(link.shown('graph')).toMatchObject([{ picture: 2 }]);
    expect(kernel.said.slice(before)).toMatchObject([
      { data: { type: 'hello', have: { g: 2 } } },
      { data: { type: 'hello', have: { g: 2 } } }
    ]);
  });

  it('refuses another version in words', async () => {
    const { kernel, link } = await opened();
    kernel.write({ ...state('a', 1), version: 1 }, 'data');
    expect(link.status).toBe('refused');
    expect(link.describe()).toContain('version 1 of the protocol, this page version 6');
    await expect(link.request('a', { type: 'undo' })).rejects.toThrow('version 1');
  });

  it('says why a hello was refused', async () => {
    const kernel = new FakeKernel();
    const link = KernelLink.of(kernel);
    await settle();
    kernel.write({
      type: 'reply',
      sender: '',
      number: 0,
      model: '',
      accepted: false,
      reason: 'the page speaks version 1'
    });
    expect([link.status, link.reason]).toEqual(['refused', 'the page speaks version 1']);
  });

  it('keeps last pictures over a restart, until the new process shows something', async () => {
    const { kernel, link } = await opened();
    kernel.write(state('a', 1), 'data');
    kernel.write(state('g', 2, 'graph'), 'data');
    const waiting = link.request('a', { type: 'undo' });
    kernel.setStatus('restarting');
    await expect(waiting).rejects.toThrow('the kernel restarted');
    expect(link.status).toBe('restarted');
    expect(link.shown('histogram')).toMatchObject([{ model: 'a', past: true }]);
    kernel.importWorkbench();
    await settle();
    kernel.welcome('process 2');
    expect([link.status, link.processId]).toEqual(['open', 'process 2']);
    kernel.write(state('a2', 1), 'data');
    expect(link.shown('histogram')).toMatchObject([{ model: 'a2', past: false }]);
    expect(link.shown('graph')).toMatchObject([{ model: 'g', past: true }]);
  });

  it('tells a dead kernel from a restarted one', async () => {
    const { kernel, link } = await opened();
    kernel.setStatus('dead');
    expect(link.status).toBe('dead');
    kernel.setStatus('idle');
    expect(link.status).toBe('restarted');
  });

  it('comes back when the connection does', async () => {
    const { kernel, link } = await opened();
    kernel.connectionStatusChanged.emit('disconnected');
    expect(link.status).toBe('lost');
    const waiting = link.request('a', { type: 'undo' });
    kernel.connectionStatusChanged.emit('connected');
    await settle();
    expect(kernel.said.at(-1)).toMatchObject({ type: 'comm_open', data: { type: 'hello' } });
    kernel.welcome();
    expect(link.status).toBe('open');
    kernel.answerAll();
    expect(await waiting).toEqual({ accepted: true, reason: '' });
  });

  it('gives nothing up because a kernel does not say which comms it has', async () => {
    const { kernel, link } = await opened();
    kernel.connectionStatusChanged.emit('disconnected');
    const waiting = link.request('a', { type: 'undo' });
    kernel.vague = true;
    kernel.connectionStatusChanged.emit('connected');
    await settle();
    expect(link.status).toBe('lost');
    kernel.vague = false;
    kernel.connectionStatusChanged.emit('connected');
    await settle();
    kernel.welcome();
    kernel.answerAll();
    expect(await waiting).toEqual({ accepted: true, reason: '' });
  });

  it('notices that another process answers after the connection was lost', async () => {
    const { kernel, link } = await opened();
    kernel.write(state('a', 1), 'data');
    kernel.connectionStatusChanged.emit('disconnected');
    const waiting = link.request('a', { type: 'undo' });
    kernel.connectionStatusChanged.emit('connected');
    await settle();
    kernel.welcome('process 2');
    await expect(waiting).rejects.toThrow('the kernel restarted');
    expect(link.shown('histogram')).toMatchObject([{ past: true }]);
  });

  it('says hello again, and opens the channel anew, until it is welcomed', async () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel();
    const link = KernelLink.of(kernel);
    await vi.advanceTimersByTimeAsync(1);
    expect(kernel.said.map(one => one.type)).toEqual(['comm_open']);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(kernel.said.map(one => one.type)).toEqual([
      'comm_open',
      'comm_msg',
      'comm_msg',
      'comm_close',
      'comm_open'
    ]);
    kernel.welcome();
    expect(link.status).toBe('open');
    vi.useRealTimers();
  });

  it('tries anew to find out whether there is a workbench if nothing is answered', async () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel();
    kernel.deaf = true;
    KernelLink.of(kernel);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(kernel.said).toEqual([]);
    kernel.deaf = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(kernel.said.map(one => one.type)).toContain('comm_open');
    vi.useRealTimers();
  });

  it('makes the channel anew when gestures find no answer', async () => {
    const { kernel, link } = await opened();
    vi.useFakeTimers();
    const waiting = link.request('a', { type: 'undo' });
    await vi.advanceTimersByTimeAsync(15_000);
    expect(link.waiting('a')).toBe(1);
    expect(kernel.said.filter(one => one.type === 'comm_open')).toHaveLength(2);
    kernel.said.length = 0;
    kernel.welcome();
    vi.useRealTimers();
    expect(kernel.answerAll()).toBe(1);
    expect(await waiting).toEqual({ accepted: true, reason: '' });
    expect(link.waiting('a')).toBe(0);
  });

  it('does after a reload what was asked before, and says if it is refused', async () => {
    const { kernel, link } = await opened();
    void link.request('a', { type: 'select', id: 'x' });
    const reloaded = Object.assign(new FakeKernel(), { id: kernel.id });
    const next = KernelLink.of(reloaded);
    await settle();
    reloaded.welcome();
    expect(next.waiting('a')).toBe(1);
    reloaded.answerAll('no such row');
    expect([next.waiting('a'), next.takeRefusal('a'), next.takeRefusal('a')]).toEqual([0, 'no such row', '']);
  });

  it('tells the kernel when the page is left', async () => {
    const { kernel } = await opened();
    globalThis.dispatchEvent(new Event('pagehide'));
    expect(kernel.said.at(-1)?.type).toBe('comm_close');
  });
});
