/**
 * A page that shows one view with one example state, without Python: for screenshots and browser tests.
 *
 * `?view=histogram&state=usual&theme=dark&width=300&height=480&renderer=canvas`. What the view sends is kept in
 * `harness.events`; `harness.answer` decides what Python would say.
 */
import type { Answer, Host, MountOptions, Selection, Status } from '../src/host';
import { mounts } from '../src/index';
import type { ViewName } from '../src/protocol';
import { examples } from './states/index';
import type { Example } from './states/tools';

interface Harness {
  readonly events: unknown[];
  readonly copied: string[];
  readonly written: string[];
  /** Whether there is one to write into. */
  notebook: boolean;
  readonly opened: string[];
  readonly selections: Selection[];
  readonly saved: { readonly name: string; readonly text: Promise<string>; readonly size: number }[];
  answer: (event: unknown) => Promise<Answer | void>;
  setStatus(status: Status): void;
  wait(count: number): void;
  refuse(reason: string): void;
  state(): unknown;
  example(name: string): unknown;
  names(): readonly string[];
  select(selection: Selection): void;
  show(name: string): void;
  patch(change: Record<string, unknown>): void;
  give(state: unknown, buffers: readonly string[]): void;
  also(other: ViewName, name: string): void;
  mount(): void;
  destroy(): void;
}

const query = new URLSearchParams(location.search);
const view = (query.get('view') ?? 'shapes') as ViewName;
const stage = document.getElementById('stage')!;
document.body.dataset['harnessTheme'] = query.get('theme') ?? 'light';
stage.style.width = `${query.get('width') ?? 900}px`;
if (query.get('height')) {
  stage.style.height = `${query.get('height')}px`;
}

let status: Status = { kind: 'live' };
let waiting = 0;
const refusedCallbacks = new Set<(reason: string) => void>();
const statusCallbacks = new Set<(status: Status) => void>();
const selectCallbacks = new Set<(selection: Selection) => void>();

const host: Host<unknown> = {
  send: event => {
    harness.events.push(event);
    return harness.answer(event);
  },
  get status() {
    return status;
  },
  onStatus: callback => {
    statusCallbacks.add(callback);
    return () => statusCallbacks.delete(callback);
  },
  get waiting() {
    return waiting;
  },
  onRefused: callback => {
    refusedCallbacks.add(callback);
    return () => refusedCallbacks.delete(callback);
  },
  copy: text => void harness.copied.push(text),
  write: code => harness.notebook && harness.written.push(code) > 0,
  openView: other => void harness.opened.push(other),
  openIn: place => void harness.opened.push(place),
  openSource: source => void harness.opened.push(source),
  select: selection => void harness.selections.push(selection),
  onSelect: callback => {
    selectCallbacks.add(callback);
    return () => selectCallbacks.delete(callback);
  },
  save: (name, data) => void harness.saved.push({ name, text: data.text(), size: data.size })
};

type AnyMount = (
  root: HTMLElement,
  host: Host<unknown>,
  options?: MountOptions
) => {
  update(state: unknown, buffers: readonly DataView[]): void;
  destroy(): void;
};

let mounted: ReturnType<AnyMount> | null = null;
let shown: Example | null = null;

const harness: Harness = {
  events: [],
  copied: [],
  written: [],
  notebook: true,
  opened: [],
  selections: [],
  saved: [],
  answer: () => Promise.resolve({ accepted: true, reason: '' }),
  setStatus: next => {
    status = next;
    statusCallbacks.forEach(callback => callback(next));
  },
  wait: count => {
    waiting = count;
    statusCallbacks.forEach(callback => callback(status));
  },
  refuse: reason => refusedCallbacks.forEach(callback => callback(reason)),
  state: () => shown?.state,
  example: name => examples[view][name]!().state,
  names: () => Object.keys(examples[view]),
  select: selection => selectCallbacks.forEach(callback => callback(selection)),
  show: name => {
    shown = examples[view][name]!();
    mounted?.update(shown.state, shown.buffers);
  },
  patch: change => {
    shown = { state: { ...shown!.state, ...change } as Example['state'], buffers: shown!.buffers };
    mounted?.update(shown.state, shown.buffers);
  },
  // What Python made: its buffers in base64, for a test's page gets nothing else.
  give: (state, buffers) => {
    const views = buffers.map(text => {
      const letters = atob(text);
      const bytes = new Uint8Array(letters.length);
      // A loop: a call for each byte would take seconds of ten million.
      for (let at = 0; at < letters.length; at++) {
        bytes[at] = letters.charCodeAt(at);
      }
      return new DataView(bytes.buffer);
    });
    shown = { state: state as Example['state'], buffers: views };
    mounted?.update(shown.state, shown.buffers);
  },
  // Another view on the same page.
  also: (other, name) => {
    const place = document.createElement('div');
    place.style.cssText = 'margin: 12px; height: 460px';
    document.body.append(place);
    const example = examples[other][name]!();
    (mounts[other] as AnyMount)(place, host).update(example.state, example.buffers);
  },
  mount: () => {
    const renderer = query.get('renderer') === 'canvas' ? 'canvas' : 'auto';
    mounted = (mounts[view] as AnyMount)(stage, host, { renderer });
  },
  destroy: () => {
    mounted?.destroy();
    mounted = null;
  }
};

Object.assign(window, { harness });
harness.mount();
const name = query.get('state');
if (name) {
  harness.show(name);
}
