/** The right side of the projector: search, the legend that filters, the selection and its neighbours. */
import type { ScatterState } from '../protocol';
import { categoryColour } from '../common/colours';
import { h, replace, setText, type Child } from '../common/dom';
import { exact, figure, grouped } from '../common/numbers';
import { button, pairs, Segments } from '../common/parts';
import { nameOf, thumbnail, type Cloud } from './cloud';

type Metric = ScatterState['metric'];

/** What the side can ask the view to do. */
export interface SideEvents {
  search(text: string, commit: boolean): number;
  filter(hidden: ReadonlySet<number>): void;
  choose(point: number): void;
  clear(): void;
  metric(metric: Metric): void;
  point(point: number | null): void;
}

const MOST_SHOWN = 60;
const MOST_LABELS = 500;

/** The panel. */
export class Side {
  readonly element: HTMLElement;
  readonly field = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: '/ label or #index',
    'aria-label': 'Search points by label or index',
    'data-testid': 'wb-search'
  });
  private readonly found = h('span', { class: 'wb-quiet', 'aria-live': 'polite', 'data-testid': 'wb-found' });
  private readonly legend = h('div', {
    class: 'wb-legend',
    role: 'group',
    'aria-label': 'Labels: press one to hide or show its points',
    'data-testid': 'wb-legend'
  });
  private readonly legendTitle = h('span');
  private readonly legendPart: HTMLElement;
  private readonly all = button('all', () => this.setHidden(new Set()), {
    'data-testid': 'wb-legend-all',
    title: 'Show all labels'
  });
  private readonly picked = h('div', { 'data-testid': 'wb-picked' });
  private readonly near = h('div', { class: 'wb-near', 'data-testid': 'wb-neighbours' });
  private readonly nearPart: HTMLElement;
  private readonly metrics: Segments<Metric>;
  private hidden = new Set<number>();
  private key = '';

  constructor(private readonly events: SideEvents) {
    this.metrics = new Segments<Metric>(
      'Distance',
      [
        ['cosine', 'cosine'],
        ['euclidean', 'euclidean']
      ],
      'cosine',
      value => events.metric(value),
      'wb-metric'
    );
    this.legendPart = h('div', {}, h('h3', {}, this.legendTitle, this.all), this.legend);
    this.nearPart = h(
      'div',
      {},
      h('h3', {}, 'nearest, by distance before projection'),
      this.metrics.element,
      this.near
    );
    this.element = h(
      'div',
      { class: 'wb-side', role: 'group', 'aria-label': 'Search, labels and selection' },
      h('div', { class: 'wb-search-line' }, this.field, this.found),
      this.legendPart,
      this.picked,
      this.nearPart
    );
    this.field.addEventListener('input', () => this.search(false));
    this.field.addEventListener('keydown', event => {
      if (event.key === 'Enter') {
        this.search(true);
        event.preventDefault();
      } else if (event.key === 'Escape') {
        this.field.value = '';
        this.search(false);
      }
      // Keys of a field are no shortcuts of the view, nor of the notebook around it.
      event.stopPropagation();
    });
  }

  /** Shows another state. */
  update(state: ScatterState, cloud: Cloud, selected: readonly number[], dark: boolean): void {
    this.metrics.set(state.metric);
    this.writeLegend(state, cloud, dark);
    this.writePicked(state, cloud, selected);
    this.writeNear(state, cloud, selected, dark);
  }

  private search(commit: boolean): void {
    const count = this.events.search(this.field.value, commit);
    setText(this.found, this.field.value.trim() === '' ? '' : grouped(count));
  }

  private setHidden(hidden: Set<number>): void {
    this.hidden = hidden;
    this.markLegend();
    this.events.filter(hidden);
  }

  private markLegend(): void {
    [...this.legend.children].forEach((element, index) =>
      element.setAttribute('aria-pressed', String(!this.hidden.has(index)))
    );
    this.all.hidden = this.hidden.size === 0;
  }

  private writeLegend(state: ScatterState, cloud: Cloud, dark: boolean): void {
    this.legendPart.hidden = cloud.names.length === 0 || !cloud.categories;
    const key = JSON.stringify([cloud.names, cloud.sizes, dark]);
    setText(this.legendTitle, state.label_name || 'label');
    if (key === this.key) {
      return;
    }
    const names = cloud.names.slice(0, MOST_LABELS);
    const same = this.legend.children.length === names.length;
    this.key = key;
    replace(
      this.legend,
      ...names.map((name, index) => this.legendEntry(name, index, cloud.sizes[index] ?? 0, dark))
    );
    if (same) {
      this.markLegend();
    } else {
      // Other labels: what was hidden of the last ones would be hidden with nothing to say so.
      this.setHidden(new Set());
    }
  }

  private legendEntry(name: string, index: number, count: number, dark: boolean): HTMLElement {
    const toggle = (): void => {
      const hidden = new Set(this.hidden);
      if (!hidden.delete(index)) {
        hidden.add(index);
      }
      this.setHidden(hidden);
    };
    const element = button('', toggle, {
      'aria-pressed': 'true',
      title: `${name}: ${grouped(count)} points. Click hides or shows, double click shows only these.`,
      'data-label': name
    });
    element.addEventListener('dblclick', () =>
      this.setHidden(new Set([...Array(this.legend.children.length).keys()].filter(other => other !== index)))
    );
    element.style.setProperty('--wb-mark', categoryColour(index, dark));
    replace(element, h('i'), h('span', {}, name));
    return element;
  }

  private writePicked(state: ScatterState, cloud: Cloud, selected: readonly number[]): void {
    if (selected.length === 0) {
      replace(
        this.picked,
        h(
          'p',
          { class: 'wb-quiet', style: 'margin: 0' },
          'Click a point to select it. Shift and drag selects many.'
        )
      );
      return;
    }
    const first = selected[0]!;
    // The rows belong to the selection that Python knows: until it has caught up they are another point's.
    const row = state.selected[0] === first ? state.rows[0] : undefined;
    const title =
      selected.length === 1 ? `point ${first}` : `${grouped(selected.length)} points, first ${first}`;
    const columns = state.columns.map((column, index) => [column, row?.[index] ?? '…'] as const);
    const label = nameOf(cloud, first);
    const named: (readonly [string, string])[] =
      label && !state.columns.includes(state.label_name)
        ? [[state.label_name || 'label', label], ...columns]
        : columns;
    // All of a long value is read by pointing at it.
    const facts = named.map(([name, value]) => [name, value, value] as const);
    const clear = button('clear', () => this.events.clear(), { 'data-testid': 'wb-clear' });
    replace(
      this.picked,
      h('h3', {}, title, clear),
      h('div', { class: 'wb-picked' }, thumbnail(cloud, first, 64) ?? h('span'), pairs(facts)),
      this.others(cloud, selected)
    );
  }

  /** What else is selected, in a row of thumbnails or labels. */
  private others(cloud: Cloud, selected: readonly number[]): Child {
    if (selected.length < 2) {
      return null;
    }
    const shown = selected.slice(1, 25).map(point => {
      const picture = thumbnail(cloud, point, 24);
      const element = button('', () => this.events.choose(point), {
        class: 'wb-button wb-button-plain',
        title: `point ${point} ${nameOf(cloud, point)}`,
        'aria-label': `point ${point} ${nameOf(cloud, point)}`
      });
      replace(element, picture ?? String(point));
      return element;
    });
    const more = selected.length - 25;
    return h(
      'div',
      { class: 'wb-chips' },
      ...shown,
      more > 0 ? h('span', { class: 'wb-quiet' }, `and ${grouped(more)} more`) : null
    );
  }

  private writeNear(state: ScatterState, cloud: Cloud, selected: readonly number[], dark: boolean): void {
    const current = selected.length > 0 && state.selected[0] === selected[0];
    this.nearPart.hidden = !current || state.neighbours.length === 0;
    const rows = current ? state.neighbours.slice(0, MOST_SHOWN) : [];
    replace(
      this.near,
      ...rows.map(({ index, distance }) => {
        const mark = h('i');
        mark.style.setProperty(
          '--wb-mark',
          cloud.categories ? categoryColour(cloud.categories[index] ?? 0, dark) : 'var(--wb-accent)'
        );
        const element = h(
          'button',
          { type: 'button', 'data-index': index, 'data-testid': 'wb-neighbour' },
          (index < cloud.count ? thumbnail(cloud, index, 26) : null) ?? mark,
          h('span', {}, nameOf(cloud, index) || `point ${index}`),
          h('span', { title: exact(distance) }, figure(distance))
        );
        element.addEventListener('click', () => this.events.choose(index));
        element.addEventListener('pointerenter', () => this.events.point(index));
        element.addEventListener('pointerleave', () => this.events.point(null));
        element.addEventListener('focus', () => this.events.point(index));
        element.addEventListener('blur', () => this.events.point(null));
        return element;
      })
    );
  }
}
