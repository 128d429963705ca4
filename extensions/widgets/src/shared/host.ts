import type { ViewName } from '../../../protocol/src/index';
import type { Answer, Host, Place, Selection, Status } from '../../../views/src/host';
import type { KernelLink } from './link';
import type { PlainEvent } from './outbox';
import type { SharedSelection } from './selection';

/** What a host needs to know beside the link. */
export interface Source {
  /** Sends an event on whatever way there is. */
  readonly send: (event: PlainEvent) => Promise<Answer | undefined>;
  /** How fresh the picture is now. */
  readonly status: () => Status;
  /** How many events are not confirmed, for so long that a person should know. */
  readonly waiting: () => number;
  /** The views on the same kernel; null where there is no link. */
  readonly link: () => KernelLink | null;
  /** Opens another view, where that is possible now. */
  readonly openView: () => ((view: ViewName) => void) | undefined;
  /** Puts code into a new cell; says whether there is a notebook to put it in. */
  readonly write: (code: string) => boolean;
  /** Opens the view elsewhere, where that is possible now. */
  readonly openIn: () => ((place: Place) => void) | undefined;
}

/** The fields of every state's head that say how fresh it is. */
interface Freshness {
  readonly head?: { readonly updated?: number; readonly live?: boolean };
}

/** How fresh a state is that came over a link which works. */
export function freshness(state: unknown): Status {
  const head = (state as Freshness | null)?.head;
  return head?.live ? { kind: 'live' } : { kind: 'stale', since: 1000 * (head?.updated ?? 0) };
}

/** The surroundings of a view, for widgets and panels alike. */
export class LinkedHost implements Host<never> {
  private readonly statusCallbacks = new Set<(status: Status) => void>();
  private readonly selectCallbacks = new Set<(selection: Selection) => void>();
  private readonly refusedCallbacks = new Set<(reason: string) => void>();
  private selection: SharedSelection | null = null;
  private endSelection: (() => void) | null = null;
  private told = '';

  constructor(private readonly source: Source) {}

  /** How fresh the picture is now. */
  get status(): Status {
    return this.source.status();
  }

  /** Opens this view elsewhere; undefined where nothing can. */
  get openIn(): ((place: Place) => void) | undefined {
    return this.source.openIn();
  }

  /** Opens the newest picture of another view; undefined where nothing can. */
  get openView(): ((view: ViewName) => void) | undefined {
    return this.source.openView();
  }

  /** How many events are not confirmed, for so long that a person should know. */
  get waiting(): number {
    return this.source.waiting();
  }

  /** Sends an event to Python; rejects if Python will never get it. */
  send(event: never): Promise<Answer | void> {
    return this.source.send(event as PlainEvent);
  }

  /** Calls back whenever the status, or what waits, changes. */
  onStatus(callback: (status: Status) => void): () => void {
    this.statusCallbacks.add(callback);
    return () => this.statusCallbacks.delete(callback);
  }

  /** Calls back when something was refused that nobody waits for any more. */
  onRefused(callback: (reason: string) => void): () => void {
    this.refusedCallbacks.add(callback);
    return () => this.refusedCallbacks.delete(callback);
  }

  /** Tells the view why something was refused that nobody waits for any more. */
  refuse(reason: string): void {
    // Over a copy: who is called may let go.
    for (const callback of [...this.refusedCallbacks]) {
      callback(reason);
    }
  }

  /** Tells the view that its link, its status, or what waits, may have changed. */
  refresh(): void {
    this.hear();
    const status = this.status;
    // As text, since every status is an object of its own.
    const text = JSON.stringify([status, this.waiting]);
    if (text !== this.told) {
      this.told = text;
      for (const callback of [...this.statusCallbacks]) {
        callback(status);
      }
    }
  }

  /** Puts text on the clipboard. */
  copy(text: string): void {
    void navigator.clipboard?.writeText(text).catch(() => undefined);
  }

  /** Puts code into a new cell of the notebook; says whether there is one. */
  write(code: string): boolean {
    return this.source.write(code);
  }

  /** Tells the other views what was selected here. */
  select(selection: Selection): void {
    this.source.link()?.selection.emit(selection, this.onSelection);
  }

  /** Calls back when another view selects. */
  onSelect(callback: (selection: Selection) => void): () => void {
    this.selectCallbacks.add(callback);
    this.hear();
    return () => this.selectCallbacks.delete(callback);
  }

  /** Listens to the selection of the kernel that is there now: a view may be mounted before it, and outlive it. */
  private hear(): void {
    const selection = this.selectCallbacks.size > 0 ? (this.source.link()?.selection ?? null) : null;
    if (selection !== this.selection) {
      this.endSelection?.();
      this.selection = selection;
      this.endSelection = selection?.listen(this.onSelection) ?? null;
    }
  }

  /** Lets every listener go. */
  end(): void {
    this.endSelection?.();
    this.endSelection = null;
    this.selection = null;
    this.statusCallbacks.clear();
    this.selectCallbacks.clear();
    this.refusedCallbacks.clear();
  }

  private readonly onSelection = (selection: Selection): void => {
    for (const callback of [...this.selectCallbacks]) {
      callback(selection);
    }
  };
}
