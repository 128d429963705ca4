/**
 * What the link needs of a kernel connection. JupyterLab's `IKernelConnection` fits; nothing of JupyterLab is
 * imported here, so that the doors of the widgets stay small and work in other front ends.
 */

/** A signal that one can listen to. */
export interface Signal<T> {
  connect(slot: (sender: unknown, value: T) => void): boolean;
  disconnect(slot: (sender: unknown, value: T) => void): boolean;
}

/** A message as it arrives on a comm. */
export interface CommMessage {
  readonly content: { readonly data: unknown };
  readonly buffers?: readonly (ArrayBuffer | ArrayBufferView)[];
}

/** One end of a comm. */
export interface Comm {
  readonly commId: string;
  readonly isDisposed: boolean;
  commsOverSubshells?: string;
  onMsg: (message: never) => void | PromiseLike<void>;
  onClose: (message: never) => void | PromiseLike<void>;
  dispose(): void;
}

/** A message as it went over the connection, as far as we look at it. */
export interface Told {
  readonly header: { readonly msg_type: string };
  parent_header: {
    readonly msg_id?: string;
    readonly msg_type?: string;
    readonly subshell_id?: string | null;
  };
  readonly content?: { readonly execution_state?: string };
}

/** What was sent and may be answered. */
export interface Future {
  readonly done: Promise<unknown>;
}

/** A connection to a kernel. */
export interface Kernel {
  readonly id: string;
  readonly clientId: string;
  readonly username: string;
  readonly status: string;
  readonly connectionStatus: string;
  readonly isDisposed: boolean;
  readonly supportsSubshells?: boolean;
  /** The thread whose cells this connection runs; null or missing for the kernel's own. */
  readonly subshellId?: string | null;
  readonly info: Promise<unknown>;
  readonly statusChanged: Signal<string>;
  readonly connectionStatusChanged: Signal<string>;
  readonly disposed: Signal<void>;
  /** Told of each message that has come, before it is handled. */
  readonly anyMessage: Signal<{ readonly msg: unknown }>;
  createComm(target: string, id?: string): Comm;
  registerCommTarget(target: string, callback: (comm: Comm) => void): void;
  sendShellMessage(message: never, expectReply?: boolean): Future;
  sendControlMessage(message: never, expectReply?: boolean): Future;
}

type Channel = 'shell' | 'control';

function makeMessage(
  kernel: Kernel,
  channel: Channel,
  type: string,
  content: object,
  thread: string | null
): never {
  return {
    header: {
      date: new Date().toISOString(),
      msg_id: crypto.randomUUID(),
      msg_type: type,
      session: kernel.clientId,
      username: kernel.username,
      version: '5.4',
      ...(thread === null ? {} : { subshell_id: thread })
    },
    parent_header: {},
    metadata: {},
    content,
    channel,
    buffers: []
  } as unknown as never;
}

/** A type of messages that JupyterLab's servers count among those that are no work of the kernel's. */
const NO_WORK = 'comm_info_request';
/** What runs a cell. Nothing else makes the kernel busy until it has ended, but in another thread. */
const CELL = 'execute_request';
/** What the control channel serves while a cell runs: threads, and the questions of JupyterLab's debugger. */
const BESIDE_CELLS = /^((create|delete|list)_subshell|debug)_request$/;

/**
 * Lets what is served beside the cells leave the kernel's status as it is, whichever page has sent it. A thread of its
 * own serves us, and tells everybody that it is busy and idle again: that would stand in the status bar in the place of
 * the cell that runs meanwhile.
 */
export function ignoreThreads(kernel: Kernel): void {
  // The request of the cell that runs, as far as this page has heard of it.
  let cell: string | undefined;
  kernel.connectionStatusChanged.connect(() => {
    cell = undefined; // its end may be among what was not heard
  });
  kernel.anyMessage.connect((_sender, { msg }) => {
    const told = msg as Told;
    const state = told.content?.execution_state;
    if (told.header.msg_type !== 'status') {
      return;
    }
    const { msg_id: id, msg_type: type, subshell_id: thread } = told.parent_header;
    const elsewhere = (thread ?? null) !== (kernel.subshellId ?? null);
    const served = state === 'busy' || state === 'idle';
    if (elsewhere || BESIDE_CELLS.test(type ?? '') || (served && cell !== undefined && type !== CELL)) {
      told.parent_header = { ...told.parent_header, msg_type: NO_WORK };
    } else if (type === CELL && state === 'busy') {
      cell = id;
    } else if (id === cell || !served) {
      cell = undefined; // it has ended, or the kernel has
    }
  });
}

async function ask(
  kernel: Kernel,
  channel: Channel,
  type: string,
  content: object,
  thread: string | null
): Promise<unknown> {
  const message = makeMessage(kernel, channel, type, content, thread);
  const send = channel === 'shell' ? kernel.sendShellMessage : kernel.sendControlMessage;
  const reply = (await send.call(kernel, message, true).done) as { content: unknown };
  return reply.content;
}

const INFO_PATIENCE = 1500;

function after(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}

/**
 * A thread of the kernel that serves this page while a cell runs (a subshell); null if the kernel has none.
 *
 * JupyterLab could make one for a comm, but only after the kernel has told what it can, and a kernel whose cell
 * runs does not tell: a page that was reloaded would have to wait. A page asks again for the thread it had.
 */
export async function findThread(kernel: Kernel): Promise<string | null> {
  const told = await Promise.race([kernel.info.then(() => true), after(INFO_PATIENCE).then(() => false)]);
  if (told) {
    return kernel.supportsSubshells ? claimThread(kernel) : null;
  }
  const unable = kernel.info.then(() =>
    // A promise that never ends leaves it to the other one.
    kernel.supportsSubshells ? new Promise<null>(() => undefined) : null
  );
  return Promise.race([unable, claimThread(kernel)]);
}

async function claimThread(kernel: Kernel): Promise<string> {
  const key = `workbench.thread.${kernel.id}`;
  const known = recall(key);
  if (known !== null) {
    const present = (await ask(kernel, 'control', 'list_subshell_request', {}, null)) as {
      subshell_id?: string[];
    };
    if (present.subshell_id?.includes(known)) {
      return known;
    }
  }
  const made = (await ask(kernel, 'control', 'create_subshell_request', {}, null)) as { subshell_id: string };
  remember(key, made.subshell_id);
  return made.subshell_id;
}

function recall(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null; // a page that may store nothing asks for a new thread each time
  }
}

function remember(key: string, value: string): void {
  try {
    sessionStorage.setItem(key, value);
  } catch {
    // see recall
  }
}

/** Asks which comms of a target the kernel has, in a thread that a running cell does not hold up. */
export async function commIds(kernel: Kernel, target: string, thread: string | null): Promise<string[]> {
  const content = await ask(kernel, 'shell', 'comm_info_request', { target_name: target }, thread);
  const { comms } = content as { comms?: object };
  if (comms === undefined) {
    throw new Error('the kernel did not say which comms it has'); // that it has none would end what waits
  }
  return Object.keys(comms);
}

/** A comm that this page opens, served by a given thread of the kernel. */
export class Line {
  readonly id: string;
  private readonly comm: Comm;

  constructor(
    private readonly kernel: Kernel,
    private readonly target: string,
    private readonly thread: string | null,
    receive: (data: unknown) => void,
    closed: () => void
  ) {
    this.comm = kernel.createComm(target);
    this.comm.commsOverSubshells = 'disabled'; // the thread is chosen here
    this.comm.onMsg = (message: never) => receive((message as CommMessage).content.data);
    this.comm.onClose = closed;
    this.id = this.comm.commId;
  }

  /** True as long as something can be sent. */
  get usable(): boolean {
    return !this.comm.isDisposed && !this.kernel.isDisposed && this.kernel.status !== 'dead';
  }

  /** Opens the other end. */
  open(data: object): void {
    this.post('comm_open', { comm_id: this.id, target_name: this.target, data });
  }

  /** Sends a message. */
  send(data: object): void {
    this.post('comm_msg', { comm_id: this.id, data });
  }

  /** Tells the other end that this one is gone. */
  close(): void {
    this.post('comm_close', { comm_id: this.id, data: {} });
    this.comm.dispose();
  }

  /** Forgets the other end without a word. */
  drop(): void {
    this.comm.dispose();
  }

  private post(type: string, content: object): void {
    if (this.usable) {
      const message = makeMessage(this.kernel, 'shell', type, content, this.thread);
      this.kernel.sendShellMessage(message, false);
    }
  }
}
