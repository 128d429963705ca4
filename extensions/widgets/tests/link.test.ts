import { beforeEach, describe, expect, it } from 'vitest';
import { KernelLink } from '../src/shared/link';
import { FakeKernel, settle } from './fake';

const state = (model: string, order: number, view = 'histogram'): object => ({
  type: 'state',
  view,
  model,
  order,
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
      data: { type: 'hello', version: 1, views: [] }
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

  it('refuses another version in words', async () => {
    const { kernel, link } = await opened();
    kernel.write({ ...state('a', 1), version: 2 }, 'data');
    expect(link.status).toBe('refused');
    expect(link.describe()).toContain('version 2 of the protocol, this page version 1');
    await expect(link.request('a', { type: 'undo' })).rejects.toThrow('version 2');
  });

  it('says why a hello was refused', async () => {
    const kernel = new FakeKernel();
    const link = KernelLink.of(kernel);
    await settle();
    kernel.write({ type: 'reply', model: '', accepted: false, reason: 'the page speaks version 1' });
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
    kernel.connectionStatusChanged.emit('connected');
    expect(kernel.said.at(-1)?.data).toMatchObject({ type: 'hello' });
    kernel.welcome();
    expect(link.status).toBe('open');
  });

  it('tells the kernel when the page is left', async () => {
    const { kernel } = await opened();
    globalThis.dispatchEvent(new Event('pagehide'));
    expect(kernel.said.at(-1)?.type).toBe('comm_close');
  });
});
