/** The list of observers: in graph order, worst or dearest first, with a search. */
import type { Answer } from '../host';
import type { ModelFigures, ObserverRow } from '../protocol';
import { Aim } from '../common/aim';
import { h, replace, s } from '../common/dom';
import { decibels, grouped, percent, signed } from '../common/numbers';
import { Segments } from '../common/parts';
import { clamp } from '../common/scales';
import { RowWindow } from './window';

/** How the list is sorted. */
export type Order = 'graph' | 'worst' | 'damage';

/** Height of a row in pixels, with the gap below it; the style sheet has the same. */
const ROW = 27;

/** What a figure of one observer is. */
export const LAYER_TITLE =
  'SQNR of these values once they are rounded to codes, by themselves: 6 dB more halve the error';
export const SAMPLES_TITLE =
  'How many samples of the held batch the figures of the model are of: the first are told while the others are measured';
const ALONE_TITLE = 'SQNR of the model’s results with this alone quantized';
const COST_TITLE = 'What this alone costs the model: the higher, the dearer';

/** The rows to show: those whose name holds every word, in the order asked for. */
export function arrange(rows: readonly ObserverRow[], order: Order, search: string): ObserverRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter(row => words.every(word => row.name.toLowerCase().includes(word)));
  // What has no figure yet cannot be called bad: it comes last.
  const badness = (row: ObserverRow): number => (row.nan + row.inf > 0 ? -Infinity : (row.sqnr ?? Infinity));
  const cost = (row: ObserverRow): number => row.damage ?? Infinity;
  const by = { worst: badness, damage: cost, graph: () => 0 }[order];
  return order === 'graph' ? found : found.sort((a, b) => by(a) - by(b) || 0);
}

/** How dear a point is to the model, 0 to 1: from 60 dB when it alone is quantized, which nobody sees, to 10 dB. */
export function dearness(damage: number | null): number {
  return damage === null ? 0 : clamp((60 - damage) / 50, 0, 1);
}

function spark(heights: readonly number[]): SVGSVGElement {
  const step = 46 / Math.max(1, heights.length);
  const path = heights
    .map((height, index) => {
      const tall = clamp(height, 0, 1) * 16;
      return tall > 0
        ? `M${(index * step).toFixed(1)} 16v${-Math.max(0.8, tall).toFixed(1)}h${Math.max(0.6, step - 0.4).toFixed(1)}V16z`
        : '';
    })
    .join('');
  return s(
    'svg',
    { width: 46, height: 16, viewBox: '0 0 46 16', 'aria-hidden': 'true' },
    s('path', { d: path })
  );
}

/** A bar as high as a point is dear to the model. */
function costBar(damage: number | null): HTMLElement {
  const bar = h('span', {
    class: 'wb-list-cost',
    title:
      damage === null
        ? 'What it costs the model is not known yet'
        : `With this alone quantized the model has ${decibels(damage)}`
  });
  const fill = h('i');
  fill.style.height = `${Math.round(dearness(damage) * 16)}px`;
  bar.append(fill);
  return bar;
}

/** The list on the left. */
export class ObserverList {
  readonly element: HTMLElement;
  private readonly rows = h('div', {
    class: 'wb-list-rows',
    role: 'listbox',
    tabindex: 0,
    'aria-label': 'Observers',
    'data-testid': 'wb-observers'
  });
  private readonly search = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: 'search',
    'aria-label': 'Search observers',
    'data-testid': 'wb-search'
  });
  private readonly model = h('div', { class: 'wb-list-model wb-figures', 'data-testid': 'wb-model' });
  private readonly order: Segments<Order>;
  private shown: ObserverRow[] = [];
  private all: readonly ObserverRow[] = [];
  private selected: string | null = null;
  private readonly aim = new Aim();
  private readonly window: RowWindow;
  private readonly heads = h('div', { class: 'wb-list-heads wb-quiet', 'aria-hidden': 'true' });
  private readonly built = new Map<string, { readonly key: string; readonly element: HTMLElement }>();

  constructor(private readonly ask: (id: string) => Promise<Answer | void>) {
    this.order = new Segments<Order>(
      'Sort observers by',
      [
        ['graph', 'graph'],
        ['worst', 'worst'],
        ['damage', 'cost']
      ],
      'graph',
      () => this.fill(true),
      'wb-order'
    );
    this.window = new RowWindow(this.rows, ROW, index => this.row(this.shown[index]!));
    this.search.addEventListener('input', () => this.fill(true));
    this.rows.addEventListener('keydown', event => this.key(event));
    this.element = h(
      'div',
      { class: 'wb-list' },
      h('div', { class: 'wb-list-tools' }, this.search, this.order.element),
      this.heads,
      this.rows,
      this.model
    );
  }

  private choose(id: string): void {
    this.aim.choose(id, this.ask(id));
  }

  /** Shows other rows. */
  update(rows: readonly ObserverRow[], selected: string | null, model: ModelFigures): void {
    this.all = rows;
    const moved = selected !== this.selected;
    this.aim.show(selected);
    this.selected = selected;
    this.element.hidden = rows.length < 2;
    this.fill();
    if (moved) {
      this.reveal();
    }
    this.fillModel(model);
  }

  private fill(fromTop = false): void {
    this.shown = arrange(this.all, this.order.value, this.search.value);
    const byDamage = this.order.value === 'damage';
    const heads = ['observer', 'values', byDamage ? 'model' : 'layer', 'cost'];
    if (this.heads.textContent !== heads.join('')) {
      const titles = ['', '', byDamage ? ALONE_TITLE : LAYER_TITLE, COST_TITLE];
      replace(this.heads, ...heads.map((text, at) => h('span', { title: titles[at] || null }, text)));
    }
    if (fromTop) {
      this.rows.scrollTop = 0;
    }
    if (this.shown.length === 0) {
      this.window.show(0);
      replace(this.rows, h('span', { class: 'wb-quiet' }, 'No observer has this name.'));
      return;
    }
    this.window.show(this.shown.length);
    const chosen = this.selected === null ? undefined : this.built.get(this.selected);
    if (chosen?.element.isConnected) {
      this.rows.setAttribute('aria-activedescendant', chosen.element.id);
    } else {
      // A row that is not in the page cannot be pointed to.
      this.rows.removeAttribute('aria-activedescendant');
    }
  }

  private row(row: ObserverRow): HTMLElement {
    const byDamage = this.order.value === 'damage';
    const selected = row.id === this.selected;
    const key = JSON.stringify([row, byDamage, selected]);
    const known = this.built.get(row.id);
    if (known?.key === key) {
      return known.element;
    }
    const bad = row.nan + row.inf > 0;
    const bar = h('i');
    bar.style.width = `${clamp((((byDamage ? row.damage : row.sqnr) ?? 0) / 60) * 100, 0, 100)}%`;
    const children = [
      h(
        'span',
        { class: 'wb-list-name', title: `${row.name} · ${row.scheme} · ${row.batches} batches` },
        bad ? h('b', { class: 'wb-loud' }, '⚠ ') : null,
        h('span', { class: 'wb-list-path' }, h('bdi', { dir: 'ltr' }, row.name)),
        row.overridden ? h('span', { class: 'wb-quiet', title: 'set by hand' }, ' ✎') : null
      ),
      spark(row.spark) as unknown as HTMLElement,
      h('span', { class: 'wb-list-sqnr' }, decibels(byDamage ? row.damage : row.sqnr), bar),
      costBar(row.damage)
    ];
    let element = known?.element;
    // The element stays, and with it its place.
    if (element) {
      replace(element, ...children);
    } else {
      element = h(
        'div',
        {
          class: 'wb-list-row',
          role: 'option',
          // Several widgets may share a page, and ids are the page's.
          id: `wb-observer-${this.built.size}-${Math.random().toString(36).slice(2, 7)}`,
          'data-id': row.id,
          'data-testid': 'wb-observer'
        },
        ...children
      );
      element.addEventListener('click', () => this.choose(row.id));
    }
    element.setAttribute('aria-selected', String(selected));
    this.built.set(row.id, { key, element });
    return element;
  }

  private fillModel(model: ModelFigures): void {
    const parts: Node[] = [];
    if (model.sqnr !== null) {
      parts.push(h('span', { class: 'wb-figure' }, h('span', {}, 'model'), decibels(model.sqnr)));
    }
    if (model.accuracy !== null) {
      parts.push(h('span', { class: 'wb-figure' }, h('span', {}, 'acc'), accuracyText(model)));
    }
    if (parts.length > 0 && model.held !== null) {
      const text = samplesText(model);
      parts.push(h('span', { class: 'wb-figure', title: SAMPLES_TITLE }, h('span', {}, 'samples'), text));
    }
    const key = parts.map(part => part.textContent).join();
    if (this.model.dataset['key'] !== key) {
      this.model.dataset['key'] = key;
      replace(this.model, ...parts);
    }
    this.model.hidden = parts.length === 0;
  }

  private reveal(): void {
    const at = this.shown.findIndex(row => row.id === this.selected);
    if (at >= 0) {
      this.window.reveal(at);
    }
  }

  /** The room may be another one. */
  resize(): void {
    this.window.refresh();
  }

  private key(event: KeyboardEvent): void {
    const at = this.shown.findIndex(row => row.id === this.aim.at);
    const last = this.shown.length - 1;
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (event.key === '/') {
      this.search.focus();
    } else if (next !== undefined && last >= 0) {
      this.choose(this.shown[clamp(next, 0, last)]!.id);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/** `8`, or `3 of 8` while the others are still being measured. */
export function samplesText({ samples, held }: ModelFigures): string {
  return samples === null ? grouped(held ?? 0) : `${grouped(samples)} of ${grouped(held ?? 0)}`;
}

/** `98.9 % (−0.1)`: the accuracy, and by how many points it differs from the float model's. */
export function accuracyText(model: ModelFigures): string {
  const text = percent(model.accuracy);
  if (model.accuracy === null || model.float_accuracy === null) {
    return text;
  }
  return `${text} (${signed((model.accuracy - model.float_accuracy) * 100, 1)})`;
}
