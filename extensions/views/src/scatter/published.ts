/**
 * The script of a published page: the projector without a kernel. State and buffers stand in the page; what Python would
 * do and a page can do too, neighbours and bookmarks, is done here.
 */
import type { Answer, Host } from '../host';
import type { Neighbour, ScatterState, ScatterViewEvent } from '../protocol';
import { mountScatter } from './index';
import { nearestIn, shownNumbers } from './nearest';

/** What Python has written beside the state. */
interface Page {
  readonly state: ScatterState;
  /** Numbers a vector; 0 where the vectors did not fit. */
  readonly size: number;
}

function bytesOf(element: Element): DataView {
  const text = atob(element.textContent?.trim() ?? '');
  const bytes = Uint8Array.from(text, letter => letter.charCodeAt(0));
  return new DataView(bytes.buffer);
}

function parts(name: string): Element[] {
  return [...document.querySelectorAll(`script[data-part="${name}"]`)];
}

/** Answers as a kernel would, as far as a page can. */
class Alone {
  private vectors: Float32Array | null = null;
  /** The numbers of the points whose vectors these are; null where they are counted from 0. */
  private readonly numbers: Uint32Array | null;

  constructor(
    private state: ScatterState,
    private readonly size: number,
    buffers: readonly DataView[],
    private readonly draw: (state: ScatterState) => void
  ) {
    const [element] = parts('vectors');
    if (element && size > 0) {
      const view = bytesOf(element);
      this.vectors = new Float32Array(view.buffer);
    }
    this.numbers = shownNumbers(state, buffers);
  }

  /** The first state: Python's neighbours are of all points, and a page may have a part of them. */
  get first(): ScatterState {
    const { state } = this;
    return state.window
      ? { ...state, neighbours: this.near(state.selected[0], state.k, state.metric) }
      : state;
  }

  answer(event: ScatterViewEvent): Answer {
    const { state } = this;
    if (event.type === 'select_points') {
      this.take({ selected: event.indices, neighbours: this.near(event.indices[0], state.k, state.metric) });
    } else if (event.type === 'set_neighbours') {
      const { k, metric } = event;
      this.take({ k, metric, neighbours: this.near(state.selected[0], k, metric) });
    } else if (event.type === 'save_bookmark') {
      const others = state.bookmarks.filter(one => one.name !== event.name);
      this.take({ bookmarks: [...others, { name: event.name, arrangement: event.arrangement }] });
    } else if (event.type === 'remove_bookmark') {
      this.take({ bookmarks: state.bookmarks.filter(one => one.name !== event.name) });
    } else {
      return { accepted: false, reason: 'this page stands alone: that needs Python' };
    }
    return { accepted: true, reason: '' };
  }

  private near(point: number | undefined, k: number, metric: ScatterState['metric']): Neighbour[] {
    return point === undefined || !this.vectors
      ? []
      : nearestIn(this.vectors, this.size, this.numbers, point, k, metric);
  }

  private take(change: Partial<ScatterState>): void {
    this.state = { ...this.state, ...change };
    this.draw(this.state);
  }
}

function start(): void {
  const { state, size } = JSON.parse(parts('state')[0]?.textContent ?? '') as Page;
  const buffers = parts('buffer').map(bytesOf);
  const alone = new Alone(state, size, buffers, next => view.update(next, buffers));
  const host: Host<ScatterViewEvent> = {
    send: event => Promise.resolve(alone.answer(event)),
    status: { kind: 'disconnected', reason: 'published' },
    onStatus: () => () => undefined,
    copy: text => void navigator.clipboard?.writeText(text)
  };
  const root = document.getElementById('projector')!;
  const view = mountScatter(root, host, { alone: true });
  view.update(alone.first, buffers);
}

start();
