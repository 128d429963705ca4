import type { Reply } from '../../../protocol/src/index';
import type { Answer } from '../../../views/src/host';

/** An event as plain data. */
export type PlainEvent = Readonly<Record<string, unknown>>;

/** What is written for a gesture: all of a `Request` but its type and version. */
export interface Numbered {
  readonly sender: string;
  readonly number: number;
  readonly oldest: number;
  readonly model: string;
  readonly event: PlainEvent;
}

/** A gesture that is not acknowledged, as it is kept over a reload of the page. */
interface Kept {
  readonly process: string;
  readonly sender: string;
  readonly number: number;
  readonly model: string;
  readonly event: PlainEvent;
}

interface Waiter {
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (reason: Error) => void;
}

interface Entry extends Kept {
  /** When it was made, on the clock of `performance.now`. */
  readonly since: number;
  /** Who is told; null if a former load of the page made it. */
  readonly waiter: Waiter | null;
}

interface Held {
  readonly model: string;
  readonly event: PlainEvent;
  readonly process: string;
  readonly waiter: Waiter;
}

/** What the outbox needs of the place it stands in. */
export interface Way {
  /** Writes a gesture to the kernel, now. */
  write(gesture: Numbered): void;
  /** The gestures that wait, for so long that a person should know, are others now. */
  changed?(): void;
  /** A gesture of a former load of the page was refused. */
  refused?(model: string, reason: string): void;
  /** Nothing was answered for a while: `times` in a row. What waits is written again after this. */
  silent?(times: number): void;
  /** Where gestures outlive a reload of the page. */
  readonly store?: Store;
}

/** What outlives a reload of the page. */
export interface Store {
  /** What others have kept for the same kernel: former loads of this page. It is theirs no more. */
  take(): string[];
  /** Keeps this in the place of what was kept before; null keeps nothing. */
  keep(text: string | null): void;
}

/** A gesture waits for so many milliseconds before a person is told; most are answered sooner. */
export const QUIET = 400;
/** What has no answer after so many milliseconds is written again; then after twice as many, and so on. */
export const PATIENCE = 2000;
const LONGEST_PATIENCE = 30_000;
/** So many are written again at once: a kernel that is only slow must not be buried. */
const WINDOW = 32;
/** With so many waiting, one more is refused. */
export const MOST = 500;

/** A place in the tab's own storage. A tab that may store nothing, or has no room, keeps nothing over a reload. */
export function tabStore(kernel: string): Store {
  const prefix = `workbench.outbox.${kernel}.`;
  const own = prefix + crypto.randomUUID();
  const attempt = <T>(work: () => T, otherwise: T): T => {
    try {
      return work();
    } catch {
      return otherwise;
    }
  };
  return {
    take: () =>
      attempt(() => {
        const names = Object.keys(sessionStorage).filter(name => name.startsWith(prefix) && name !== own);
        const texts = names.map(name => sessionStorage.getItem(name) ?? '[]');
        // At once: another load of this page, or a tab that was duplicated, must not send them too.
        names.forEach(name => sessionStorage.removeItem(name));
        return texts;
      }, []),
    keep: text =>
      attempt(
        () => (text === null ? sessionStorage.removeItem(own) : sessionStorage.setItem(own, text)),
        undefined
      )
  };
}

/**
 * What was asked of the kernel and is not acknowledged. A gesture stays here until it was answered: it is written
 * again when an answer is overdue, when the link comes back, and when the page was loaded again. Numbers keep the
 * order, and keep the kernel from doing one twice (`workbench/live/ledger.py`).
 *
 * While a drag goes on a view asks faster than a kernel may answer: of the steps that are not final, one is
 * under way and the newest waits; those between are dropped, as nobody would see them.
 */
export class Outbox {
  private readonly sender = crypto.randomUUID();
  private count = 0;
  private process: string | null = null;
  private entries: Entry[] = [];
  private readonly held = new Map<string, Held>();
  private patience = PATIENCE;
  private silences = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly way: Way) {
    this.entries = this.recall();
    this.remember();
  }

  /** How many gestures are not acknowledged. */
  get size(): number {
    return this.entries.length + this.held.size;
  }

  /** How many gestures for a view model wait for so long that a person should know. */
  waiting(model: string): number {
    const now = performance.now();
    return this.entries.filter(entry => entry.model === model && now - entry.since >= QUIET).length;
  }

  /**
   * Sends an event to a view model of a kernel's `process`, now or when its turn comes. Resolves with the answer, or
   * with nothing if a newer one took its place.
   */
  send(model: string, event: PlainEvent, process: string): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      this.held.get(model)?.waiter.resolve(undefined);
      this.held.delete(model);
      if (event.final === false && this.entries.some(entry => isStep(entry) && entry.model === model)) {
        this.held.set(model, { model, event, process, waiter });
      } else {
        this.post(model, event, process, waiter);
      }
    });
  }

  /** The kernel's `process` listens (again): what waits for it is written, what waits for another one never will be done. */
  open(process: string): void {
    this.process = process;
    this.settle();
    this.fail('the kernel restarted', entry => entry.process !== process);
    this.due().forEach(entry => this.write(entry));
    this.watch();
  }

  /** Nobody listens at the moment: what waits, waits. */
  close(): void {
    this.process = null;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** An answer arrived. One that was answered before is passed over. */
  answer(reply: Reply): void {
    const at = this.entries.findIndex(one => one.sender === reply.sender && one.number === reply.number);
    const entry = this.entries[at];
    this.settle();
    if (!entry) {
      this.watch();
      return;
    }
    this.entries.splice(at, 1);
    // The last of one sender is answered: those of the next may be written now, see `due`.
    if (at === 0 && this.entries[0] && this.entries[0].sender !== entry.sender) {
      this.due().forEach(one => this.write(one));
    }
    if (isStep(entry)) {
      const next = this.held.get(entry.model);
      this.held.delete(entry.model);
      if (next) {
        this.post(next.model, next.event, next.process, next.waiter);
      }
    }
    this.remember();
    this.watch();
    this.way.changed?.();
    if (entry.waiter) {
      entry.waiter.resolve({ accepted: reply.accepted, reason: reply.reason });
    } else if (!reply.accepted) {
      this.way.refused?.(entry.model, reply.reason);
    }
  }

  /** Those that `which` names will not be done, for this reason. */
  fail(reason: string, which: (gesture: { readonly process: string }) => boolean = () => true): void {
    const gone = this.entries.filter(which);
    const held = [...this.held.values()].filter(which);
    if (gone.length + held.length === 0) {
      return;
    }
    this.entries = this.entries.filter(entry => !gone.includes(entry));
    held.forEach(one => this.held.delete(one.model));
    this.remember();
    this.way.changed?.();
    // Told last, with all in order: whoever is told may send the next one right away.
    for (const { waiter, model } of [...gone, ...held]) {
      if (waiter) {
        waiter.reject(new Error(reason));
      } else {
        this.way.refused?.(model, reason);
      }
    }
  }

  private post(model: string, event: PlainEvent, process: string, waiter: Waiter): void {
    if (this.entries.length >= MOST) {
      waiter.reject(new Error(`${MOST} gestures wait for Python already`));
      return;
    }
    this.count += 1;
    const entry = {
      process,
      sender: this.sender,
      number: this.count,
      model,
      event,
      since: performance.now(),
      waiter
    };
    this.entries.push(entry);
    this.remember();
    if (this.due().includes(entry)) {
      this.write(entry);
    }
    this.watch();
    // When `waiting` has just begun to count it.
    setTimeout(() => this.way.changed?.(), QUIET + 1);
  }

  /** Those whose turn it is: numbers keep the order of one sender, so a former load's are answered before this one's. */
  private due(): Entry[] {
    return this.entries.filter(entry => entry.sender === this.entries[0]?.sender);
  }

  private write(entry: Entry): void {
    if (this.process === entry.process) {
      const { sender, number, model, event } = entry;
      // Older ones are never written again: the kernel may forget what it has answered to them.
      const own = this.entries.filter(one => one.sender === sender).map(one => one.number);
      this.way.write({ sender, number, oldest: Math.min(...own), model, event });
    }
  }

  /** The kernel said something: it is there, so a later silence is the first again. */
  private settle(): void {
    this.patience = PATIENCE;
    this.silences = 0;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private watch(): void {
    if (this.process === null || this.entries.length === 0) {
      clearTimeout(this.timer);
      this.timer = undefined;
    } else {
      this.timer ??= setTimeout(() => this.again(), this.patience);
    }
  }

  private again(): void {
    this.timer = undefined;
    this.silences += 1;
    this.patience = Math.min(2 * this.patience, LONGEST_PATIENCE);
    this.way.silent?.(this.silences);
    this.due()
      .slice(0, WINDOW)
      .forEach(entry => this.write(entry));
    this.watch();
  }

  // ------------------------------------------------------------------------------- over a reload of the page

  private remember(): void {
    const kept = this.entries.map(({ process, sender, number, model, event }): Kept => ({
      process,
      sender,
      number,
      model,
      event
    }));
    this.way.store?.keep(kept.length > 0 ? JSON.stringify(kept) : null);
  }

  private recall(): Entry[] {
    const kept = (this.way.store?.take() ?? []).flatMap(text => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return []; // not what a page has written
      }
    });
    // They waited for as long as the reload took: a person is told of them at once.
    return kept.filter(isKept).map(one => ({ ...one, since: -QUIET, waiter: null }));
  }
}

function isStep({ event }: { readonly event: PlainEvent }): boolean {
  return event.final === false;
}

function isKept(value: unknown): value is Kept {
  const one = value as Partial<Kept> | null;
  return (
    typeof one === 'object' &&
    one !== null &&
    [one.process, one.sender, one.model].every(text => typeof text === 'string') &&
    Number.isInteger(one.number) &&
    typeof one.event === 'object' &&
    one.event !== null
  );
}
