import type { Announcement, Trouble, Update, ViewName } from '../../../protocol/src/index';

/** A view model of the kernel, as far as the page knows it. */
export interface Shown {
  readonly model: string;
  readonly view: ViewName;
  readonly order: number;
  /** The number of the picture; 0 if none came. */
  readonly picture: number;
  readonly state: Readonly<Record<string, unknown>> | null;
  readonly buffers: readonly DataView[];
  /** Why no newer picture could be made; empty if all is well. */
  readonly trouble: string;
  /** True if it comes from a process that has ended: a last picture. */
  readonly past: boolean;
}

/** A buffer as a view that starts at an address divisible by eight, as typed arrays ask for. */
function aligned(buffer: ArrayBuffer | ArrayBufferView): DataView {
  if (buffer instanceof ArrayBuffer) {
    return new DataView(buffer);
  }
  if (buffer.byteOffset % 8 === 0 && buffer.buffer instanceof ArrayBuffer) {
    return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  }
  const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  return new DataView(bytes.slice().buffer);
}

/** The last picture of each view model of a kernel. */
export class Pictures {
  private readonly entries = new Map<string, Shown>();

  /** The view models of one view, the latest last. */
  of(view: ViewName): Shown[] {
    return [...this.entries.values()]
      .filter(entry => entry.view === view)
      .sort((one, other) => one.order - other.order);
  }

  /** The numbers of the pictures that came, so that the kernel sends those again that were lost. */
  numbers(): Record<string, number> {
    const present = [...this.entries.values()].filter(entry => !entry.past);
    return Object.fromEntries(present.map(entry => [entry.model, entry.picture]));
  }

  /**
   * Takes a picture, what has changed of one, or the reason why none could be made. False where the picture that it
   * changes is not here.
   */
  take(said: Announcement | Update | Trouble, buffers: readonly (ArrayBuffer | ArrayBufferView)[]): boolean {
    const before = this.entries.get(said.model);
    let views: readonly (DataView | undefined)[] = buffers.map(aligned);
    if (said.type === 'update') {
      if (!before?.state || before.picture !== said.picture - 1) {
        return false;
      }
      const news = views.values();
      // What is kept stays the memory that it was, too.
      views = said.kept.map(place => (place < 0 ? news.next().value : before.buffers[place]));
    }
    if (!views.every(view => view !== undefined)) {
      return false;
    }
    for (const [model, entry] of this.entries) {
      if (entry.past && entry.view === said.view) {
        this.entries.delete(model); // the new process has something to show: last pictures may go
      }
    }
    if (said.type === 'trouble') {
      const none = {
        model: said.model,
        view: said.view,
        order: 0,
        picture: 0,
        state: null,
        buffers: [],
        past: false
      };
      this.entries.set(said.model, { ...(before ?? none), trouble: said.reason });
    } else {
      const { model, view, order, picture } = said;
      // What lasts stays the object that it was: a view need not look whether it is another.
      const state = said.type === 'state' ? said.state : { ...before?.state, ...said.fields };
      this.entries.set(model, {
        model,
        view,
        order,
        picture,
        state,
        buffers: views,
        trouble: '',
        past: false
      });
    }
    return true;
  }

  /** What is shown are last pictures from now on. */
  age(): void {
    for (const [model, entry] of this.entries) {
      this.entries.set(model, { ...entry, past: true });
    }
  }

  /** Forgets a view model that is gone. */
  remove(model: string): void {
    this.entries.delete(model);
  }
}
