import type {
  Announcement,
  Reply,
  Trouble,
  Update,
  ViewName,
  Welcome,
  Withdrawal
} from '../../../protocol/src/index';
import { PROTOCOL_VERSION, VIEWS } from '../../../protocol/src/index';
import type { Answer } from '../../../views/src/host';
import type { Comm, CommMessage, Kernel } from './kernel';
import { commIds, findThread, ignoreThreads, Line } from './kernel';
import type { PlainEvent } from './outbox';
import { Outbox, tabStore } from './outbox';
import type { Shown } from './pictures';
import { Pictures } from './pictures';
import { SharedSelection } from './selection';
import type { LinkStatus } from './status';
import { BRIEF, IN_WORDS } from './status';

/** Comm target that a page opens to speak to the kernel. */
export const CONTROL = 'workbench.control';
/** Comm target of the channel that carries states. */
export const DATA = 'workbench.data';

const HEARTBEAT = 30_000;
/** A page that was not welcomed after so many milliseconds says hello again, and then ever later. */
const WELCOME_PATIENCE = 1500;
/** So long may it take to find out whether there is a workbench, before it is tried anew. */
const FINDING_PATIENCE = 10_000;
/** A picture of what was done should have come so many milliseconds after the answer. */
const PICTURE_PATIENCE = 1000;
/** After so many hellos without an answer the channel itself is opened anew: the kernel may not know it. */
const SILENCES = 3;

/** Tells what has changed: one view model, or (null) the link as a whole. */
export type LinkListener = (model: string | null) => void;

/** The page's end of the link to one kernel. It owns the comms; panels and widgets share it. */
export class KernelLink {
  /** What is selected in the views of this kernel. */
  readonly selection = new SharedSelection();
  private readonly listeners = new Set<LinkListener>();
  private readonly pictures = new Pictures();
  private readonly watchers = new Map<ViewName, number>();
  private readonly outbox: Outbox;
  private readonly refusals = new Map<string, string>();
  private control: Line | null = null;
  private attempt = 0;
  private data: Comm | null = null;
  private standing: LinkStatus = 'connecting';
  private why = '';
  private process = '';
  private readonly heartbeat: ReturnType<typeof setInterval>;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private asking: ReturnType<typeof setTimeout> | undefined;
  private unanswered = 0;
  /** True on a channel on which the kernel has not answered yet. */
  private fresh = true;

  /** The link to a kernel: the same one for whoever asks in this page. */
  static of(kernel: Kernel): KernelLink {
    // A symbol that all bundles of a page find: the panels and each widget bring a copy of this module.
    const key = Symbol.for(`workbench.links.${PROTOCOL_VERSION}`);
    const page = globalThis as unknown as Record<symbol, WeakMap<Kernel, KernelLink> | undefined>;
    const links = (page[key] ??= new WeakMap());
    let link = links.get(kernel);
    if (!link) {
      link = new KernelLink(kernel);
      links.set(kernel, link);
    }
    return link;
  }

  private constructor(private readonly kernel: Kernel) {
    ignoreThreads(kernel);
    kernel.statusChanged.connect(this.onStatus);
    kernel.connectionStatusChanged.connect(this.onConnection);
    kernel.disposed.connect(() => this.end());
    globalThis.addEventListener('pagehide', this.onHide);
    globalThis.addEventListener('pageshow', this.onShow);
    this.outbox = new Outbox({
      write: gesture => this.write({ type: 'event', ...gesture }),
      changed: () => this.tell(null),
      refused: (model, reason) => {
        this.refusals.set(model, reason);
        this.tell(model);
      },
      silent: times => (times % SILENCES === 0 ? void this.connect(false) : this.greet()),
      store: tabStore(kernel.id)
    });
    this.heartbeat = setInterval(() => this.beat(), HEARTBEAT);
    this.register();
    void this.connect(false);
  }

  /** How the link stands. */
  get status(): LinkStatus {
    return this.standing;
  }

  /** Why the link stands as it does, if it was refused. */
  get reason(): string {
    return this.why;
  }

  /** Identity of the process at the other end; empty before it has answered. */
  get processId(): string {
    return this.process;
  }

  /** The view models of one view, the latest last. */
  shown(view: ViewName): Shown[] {
    return this.pictures.of(view);
  }

  /** Asks for the states of a view until the returned function is called. */
  watch(view: ViewName): () => void {
    this.watchers.set(view, (this.watchers.get(view) ?? 0) + 1);
    this.greet();
    let ended = false;
    return () => {
      if (!ended) {
        ended = true;
        const left = (this.watchers.get(view) ?? 1) - 1;
        if (left > 0) {
          this.watchers.set(view, left);
        } else {
          this.watchers.delete(view);
          this.greet();
        }
      }
    };
  }

  /**
   * Sends an event to a view model of `process` and resolves with the answer; rejects if it will never be done. While
   * the connection is lost, and after a reload until the kernel has answered, it waits.
   */
  async request(model: string, event: PlainEvent, process = this.process): Promise<Answer | undefined> {
    if (!['open', 'lost', 'connecting'].includes(this.standing) || process === '') {
      throw new Error(this.describe());
    }
    return this.outbox.send(model, event, process);
  }

  /** How many gestures for a view model wait for so long that a person should know. */
  waiting(model: string): number {
    return this.outbox.waiting(model);
  }

  /** Why a gesture was refused that a former load of this page made; it is told once. Empty if none was. */
  takeRefusal(model: string): string {
    const reason = this.refusals.get(model) ?? '';
    this.refusals.delete(model);
    return reason;
  }

  /** Calls back at every change; returns a function that ends it. */
  listen(listener: LinkListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The state of the link in two words, for the line above a view. */
  get brief(): string {
    return BRIEF[this.standing];
  }

  /** The state of the link in a person's words. */
  describe(): string {
    return this.standing === 'refused' ? this.why : IN_WORDS[this.standing];
  }

  // ------------------------------------------------------------------------------------ coming and going

  private register(): void {
    try {
      this.kernel.registerCommTarget(DATA, comm => {
        // The kernel has imported the workbench just now. The channel itself is taken up after the welcome.
        comm.dispose();
        void this.connect(true);
      });
    } catch {
      this.set('refused', 'the comms of this kernel belong to another view of the same notebook');
    }
  }

  /** Opens the control channel, if the kernel has a workbench or is `known` to. */
  private async connect(known: boolean): Promise<void> {
    const attempt = ++this.attempt;
    this.expect(FINDING_PATIENCE);
    try {
      const thread = await findThread(this.kernel);
      const present = known || (await commIds(this.kernel, DATA, thread)).length > 0;
      if (attempt !== this.attempt || this.kernel.isDisposed) {
        return; // something newer is under way
      }
      if (present) {
        this.open(thread);
      } else if (this.standing === 'connecting') {
        this.expectNothing();
        this.set('absent');
      } else if (this.process !== '') {
        this.drop('restarted'); // another process answers, and it has no workbench yet
      }
    } catch {
      // The kernel, or the way to it, went away in the meantime: it is tried again, or its status says so.
    }
  }

  /** Asks again, ever later, until the kernel has welcomed this page: every message may be lost. */
  private expect(patience: number): void {
    clearTimeout(this.watchdog);
    const delay = Math.min(patience * 2 ** this.unanswered, HEARTBEAT);
    this.watchdog = setTimeout(() => {
      this.unanswered += 1;
      if (this.control && this.unanswered % SILENCES !== 0) {
        this.greet();
        this.expect(WELCOME_PATIENCE);
      } else {
        void this.connect(false);
      }
    }, delay);
  }

  private expectNothing(): void {
    clearTimeout(this.watchdog);
    this.unanswered = 0;
  }

  private open(thread: string | null): void {
    this.control?.close();
    let control: Line;
    const receive = (data: unknown): void => this.onControl(data);
    const closed = (): void => {
      // A channel that was replaced closes too, and that is no news.
      if (this.control === control) {
        this.drop('absent');
      }
    };
    try {
      control = new Line(this.kernel, CONTROL, thread, receive, closed);
    } catch {
      this.expectNothing();
      this.set('refused', 'the comms of this kernel belong to another view of the same notebook');
      return;
    }
    this.control = control;
    this.fresh = true;
    this.expect(WELCOME_PATIENCE);
    control.open({ type: 'hello', version: PROTOCOL_VERSION, views: this.watched() });
  }

  private readonly onStatus = (_sender: unknown, status: string): void => {
    if (status === 'restarting' || status === 'autorestarting') {
      this.drop('restarted');
    } else if (status === 'dead' || status === 'terminating') {
      this.drop('dead');
    } else if (this.standing === 'dead' && (status === 'idle' || status === 'busy')) {
      this.set('restarted');
    }
  };

  private readonly onConnection = (_sender: unknown, status: string): void => {
    if (status === 'disconnected') {
      if (this.standing === 'open') {
        this.outbox.close();
        this.set('lost');
      }
    } else if (status === 'connected' && (this.standing === 'lost' || !this.control)) {
      // On a new channel the kernel sends all pictures: those of the meantime are lost.
      void this.connect(false);
    }
  };

  /** The kernel is told, and need not find out by silence that nobody looks any more. */
  private readonly onHide = (): void => {
    this.control?.close();
  };

  /** A page may come back as it was left, with everything but its channel. */
  private readonly onShow = (event: PageTransitionEvent): void => {
    if (event.persisted) {
      void this.connect(false);
    }
  };

  /** The other end is gone: nothing is answered any more, and what was shown is a last picture. */
  private drop(status: LinkStatus): void {
    if (this.process === '') {
      status = 'absent'; // it never was there
    }
    this.attempt += 1;
    this.expectNothing();
    clearTimeout(this.asking);
    this.control?.drop();
    this.data?.dispose();
    this.control = null;
    this.data = null;
    this.pictures.age();
    this.set(status);
    this.outbox.close();
    this.outbox.fail(this.describe());
  }

  private end(): void {
    clearInterval(this.heartbeat);
    globalThis.removeEventListener('pagehide', this.onHide);
    globalThis.removeEventListener('pageshow', this.onShow);
    this.drop('dead');
  }

  // ------------------------------------------------------------------------------------------- messages

  private watched(): ViewName[] {
    return [...this.watchers.keys()];
  }

  private beat(): void {
    if (this.standing === 'absent') {
      void this.connect(false); // that it imports the workbench is said once, and may have been missed
    } else {
      this.greet();
    }
  }

  private greet(): void {
    clearTimeout(this.asking);
    this.write({ type: 'hello', views: this.watched(), have: this.pictures.numbers() });
  }

  private write(message: Readonly<Record<string, unknown>>): void {
    this.control?.send({ version: PROTOCOL_VERSION, ...message });
  }

  private onControl(data: unknown): void {
    const said = data as Reply | Welcome;
    if (said.version !== PROTOCOL_VERSION) {
      this.refuse(said.version);
    } else if (said.type === 'welcome') {
      this.onWelcome(said);
    } else if (said.type === 'reply' && said.number === 0 && this.standing !== 'open') {
      this.expectNothing();
      this.set('refused', said.reason);
    } else if (said.type === 'reply') {
      this.outbox.answer(said);
      // The picture of what was done comes on another way: should it be lost, it is asked for.
      clearTimeout(this.asking);
      this.asking = setTimeout(() => this.greet(), PICTURE_PATIENCE);
    }
  }

  private refuse(version: unknown): void {
    const words = `the kernel speaks version ${String(version)} of the protocol, this page version`;
    this.expectNothing();
    this.set('refused', `${words} ${PROTOCOL_VERSION}; reload the page, or restart the kernel`);
  }

  private onWelcome(welcome: Welcome): void {
    this.expectNothing();
    // Every heartbeat is welcomed: what waits is written again only to an end that is new.
    const again = this.standing !== 'open' || this.fresh || this.process !== welcome.kernel;
    if (this.process !== welcome.kernel) {
      this.pictures.age();
    }
    this.process = welcome.kernel;
    this.fresh = false;
    if (!this.data || this.data.isDisposed || this.data.commId !== welcome.data) {
      this.data?.dispose();
      const data = this.kernel.createComm(DATA, welcome.data);
      data.commsOverSubshells = 'disabled'; // the page never writes on it
      data.onMsg = (message: never) => this.onData(message as CommMessage);
      this.data = data;
    }
    this.set('open');
    if (again) {
      this.outbox.open(welcome.kernel);
    }
  }

  private onData(message: CommMessage): void {
    const said = message.content.data as Announcement | Update | Withdrawal | Trouble;
    if (said.version !== PROTOCOL_VERSION) {
      this.refuse(said.version);
    } else if (said.type === 'gone') {
      this.pictures.remove(said.model);
      this.tell(said.model);
    } else if (Object.hasOwn(VIEWS, said.view) && typeof said.model === 'string') {
      if (this.pictures.take(said, message.buffers ?? [])) {
        this.tell(said.model);
      } else {
        this.greet(); // with the numbers of the pictures that are here: the kernel sends the whole state
      }
    }
  }

  private set(status: LinkStatus, why = ''): void {
    if (this.standing !== status || this.why !== why) {
      this.standing = status;
      this.why = why;
      this.tell(null);
    }
  }

  private tell(model: string | null): void {
    // A copy: a listener may end itself, or bring others.
    for (const listener of [...this.listeners]) {
      listener(model);
    }
  }
}
