import type { Comm, Kernel, Signal } from '../src/shared/kernel';

/** A signal that the test emits. */
export class FakeSignal<T> implements Signal<T> {
  private readonly slots = new Set<(sender: unknown, value: T) => void>();

  connect(slot: (sender: unknown, value: T) => void): boolean {
    this.slots.add(slot);
    return true;
  }

  disconnect(slot: (sender: unknown, value: T) => void): boolean {
    return this.slots.delete(slot);
  }

  emit(value: T): void {
    for (const slot of [...this.slots]) {
      slot(null, value);
    }
  }
}

interface Sent {
  readonly header: { readonly msg_type: string; readonly subshell_id?: string };
  readonly content: { readonly data?: Record<string, unknown>; readonly comm_id?: string };
}

class FakeComm implements Comm {
  isDisposed = false;
  commsOverSubshells?: string;
  onMsg: (message: never) => void = () => undefined;
  onClose: (message: never) => void = () => undefined;

  constructor(readonly commId: string) {}

  dispose(): void {
    this.isDisposed = true;
  }
}

/** A kernel that answers what JupyterLab's would; `present` says whether it has imported the workbench. */
export class FakeKernel implements Kernel {
  readonly id = crypto.randomUUID();
  readonly clientId = 'client';
  readonly username = 'person';
  status = 'idle';
  connectionStatus = 'connected';
  isDisposed = false;
  supportsSubshells = true;
  info: Promise<unknown> = Promise.resolve({});
  readonly statusChanged = new FakeSignal<string>();
  readonly connectionStatusChanged = new FakeSignal<string>();
  readonly disposed = new FakeSignal<void>();
  readonly anyMessage = new FakeSignal<{ readonly msg: unknown }>();
  present = true;
  /** Whether it answers without saying which comms it has, as for a request that was given up. */
  vague = false;
  /** True while nothing that is asked is answered. */
  deaf = false;
  /** Threads that exist. */
  readonly threads: string[] = [];
  /** What was said on comms, with the thread it was addressed to. */
  readonly said: {
    readonly type: string;
    readonly data: Record<string, unknown>;
    readonly thread?: string;
  }[] = [];
  private readonly comms = new Map<string, FakeComm>();
  private readonly targets = new Map<string, (comm: Comm) => void>();
  private readonly answered = new Set<unknown>();
  private count = 0;

  createComm(_target: string, id = `comm-${++this.count}`): Comm {
    const comm = new FakeComm(id);
    this.comms.set(id, comm);
    return comm;
  }

  registerCommTarget(target: string, callback: (comm: Comm) => void): void {
    this.targets.set(target, callback);
  }

  sendShellMessage(message: never): { done: Promise<unknown> } {
    const { header, content } = message as Sent;
    if (this.deaf) {
      return { done: new Promise(() => undefined) };
    }
    if (header.msg_type === 'comm_info_request' && this.vague) {
      return { done: Promise.resolve({ content: { status: 'aborted' } }) };
    }
    if (header.msg_type === 'comm_info_request') {
      return { done: Promise.resolve({ content: { comms: this.present ? { data: {} } : {} } }) };
    }
    this.said.push({ type: header.msg_type, data: content.data ?? {}, thread: header.subshell_id });
    return { done: Promise.resolve() };
  }

  sendControlMessage(message: never): { done: Promise<unknown> } {
    const { header } = message as Sent;
    if (header.msg_type === 'create_subshell_request') {
      this.threads.push(`thread-${this.threads.length + 1}`);
      return { done: Promise.resolve({ content: { subshell_id: this.threads.at(-1) } }) };
    }
    return { done: Promise.resolve({ content: { subshell_id: [...this.threads] } }) };
  }

  /** The kernel imports the workbench now. */
  importWorkbench(): void {
    this.present = true;
    this.targets.get('workbench.data')?.(new FakeComm('data'));
  }

  /** The kernel writes on the comm that was opened last for control, or on the data comm. */
  write(data: object, to: 'control' | 'data' = 'control', buffers: ArrayBufferView[] = []): void {
    const ids = [...this.comms.keys()].filter(id => (id === 'data') === (to === 'data'));
    const comm = this.comms.get(ids.at(-1) ?? '');
    if (comm && !comm.isDisposed) {
      comm.onMsg({ content: { data: { version: 6, ...data } }, buffers } as never);
    }
  }

  /** Answers every event that was not answered; returns how many they were. */
  answerAll(reason = ''): number {
    const events = this.said.map(one => one.data).filter(data => data['type'] === 'event');
    const fresh = events.filter(({ number }) => !this.answered.has(number));
    for (const { sender, number, model } of fresh) {
      this.answered.add(number);
      this.write({ type: 'reply', sender, number, model, accepted: reason === '', reason });
    }
    return fresh.length;
  }

  /** The answer to a hello. */
  welcome(process = 'process 1'): void {
    this.write({ type: 'welcome', kernel: process, data: 'data' });
  }

  setStatus(status: string): void {
    this.status = status;
    if (status === 'restarting' || status === 'autorestarting') {
      this.comms.forEach(comm => comm.dispose()); // as JupyterLab does
      this.threads.length = 0;
    }
    this.statusChanged.emit(status);
  }
}

/** Lets everything happen that waits for its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise(resolve => setTimeout(resolve, 0));
  }
}
