/** Every column as a histogram that filters: all points behind, those shown before them, the selected ones marked. */
import { h, replace, s, setText } from '../common/dom';
import { grouped } from '../common/numbers';
import { button } from '../common/parts';
import { hiddenOf, isFiltered, rangeOf, withoutFilters, withRange } from './arrangement';
import { Brush } from './brush';
import type { Category, Column, Numeric } from './columns';
import { BINS, categoryBars, numberBars, type Bar } from './counts';
import { countShown, shownBy } from './filters';
import type { Asks, Part, Scene } from './scene';
import { hides } from './values';

/** More rows than these are found by searching. */
const MOST_VALUES = 12;
const MOST_COLUMNS = 30;
const HEIGHT = 44;

/** The panel of filters. */
export class Histograms implements Part {
  readonly element: HTMLElement;
  private readonly said = h('p', {
    class: 'wb-quiet wb-note',
    'aria-live': 'polite',
    'data-testid': 'wb-shown'
  });
  private readonly all = button('show all', () => this.showAll(), { 'data-testid': 'wb-filters-all' });
  private readonly list = h('div', { class: 'wb-histograms' });
  private readonly charts = new Map<string, Chart>();
  private scene: Scene | null = null;
  private key = '';

  constructor(private readonly asks: Asks) {
    this.element = h(
      'div',
      { class: 'wb-panel', 'data-testid': 'wb-filters' },
      h('div', { class: 'wb-line' }, this.said, h('span', { class: 'wb-spacer' }), this.all),
      this.list
    );
  }

  update(scene: Scene): void {
    this.scene = scene;
    const { columns, cloud, shown, selected } = scene;
    const drawn = [...columns.values()]
      .filter(column => column.kind === 'category' || column.kind === 'number')
      .slice(0, MOST_COLUMNS);
    const key = JSON.stringify([drawn.map(column => [column.name, column.kind]), scene.dark]);
    if (key !== this.key) {
      this.key = key;
      this.charts.clear();
      for (const column of drawn) {
        this.charts.set(
          column.name,
          chartOf(column, this.asks, () => this.scene!)
        );
      }
      replace(this.list, ...[...this.charts.values()].map(chart => chart.element));
    }
    setText(
      this.said,
      `${grouped(countShown(shown, cloud.count))} of ${grouped(cloud.count)} shown` +
        (selected.length > 0 ? `, ${grouped(selected.length)} selected` : '')
    );
    this.all.disabled = !isFiltered(scene.now);
    for (const column of drawn) {
      this.charts.get(column.name)!.update(column, scene);
    }
  }

  private showAll(): void {
    if (this.scene) {
      this.asks.arrange(withoutFilters(this.scene.now));
    }
  }
}

interface Chart {
  readonly element: HTMLElement;
  update(column: Column, scene: Scene): void;
}

function chartOf(column: Column, asks: Asks, scene: () => Scene): Chart {
  return column.kind === 'number'
    ? new NumberChart(column, asks, scene)
    : new CategoryChart(column.name, asks, scene);
}

/** Bars of numbers with a brush over them. */
class NumberChart implements Chart {
  readonly element: HTMLElement;
  private readonly svg = s('svg', {
    class: 'wb-bars',
    viewBox: `0 0 ${BINS} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true'
  });
  private readonly note = h('span', { class: 'wb-quiet' });
  private readonly brush: Brush;

  constructor(column: Numeric, asks: Asks, scene: () => Scene) {
    this.brush = new Brush(column.name, this.svg, (range, done) =>
      asks.arrange(
        { ranges: withRange(scene().now, column.name, range).ranges },
        done ? '' : `range ${column.name}`
      )
    );
    this.element = h(
      'section',
      { class: 'wb-histogram-part', 'data-column': column.name },
      h('h3', {}, h('span', {}, column.name), this.note),
      this.brush.element
    );
  }

  update(column: Column, scene: Scene): void {
    if (column.kind !== 'number') {
      return;
    }
    // What this column's own range leaves out is seen behind its handles.
    const others = shownBy(scene.now, scene.columns, scene.cloud, column.name);
    drawBars(this.svg, numberBars(column, others, scene.selected), scene.selected.length > 0);
    this.brush.update(column.low, column.high, rangeOf(scene.now, column.name));
    setText(this.note, column.missing > 0 ? `${grouped(column.missing)} without a number` : '');
  }
}

function drawBars(svg: SVGSVGElement, bars: readonly Bar[], selects: boolean): void {
  const most = Math.max(1, ...bars.map(bar => bar.all));
  const chosen = Math.max(1, ...bars.map(bar => bar.selected));
  const bar = (name: string, at: number, part: number, thin: boolean): SVGRectElement =>
    s('rect', {
      class: name,
      x: at + (thin ? 0.35 : 0.06),
      width: thin ? 0.3 : 0.88,
      y: HEIGHT * (1 - part),
      height: HEIGHT * part
    });
  replace(
    svg,
    ...bars.flatMap((one, at) => [
      bar('wb-bar-all', at, one.all / most, false),
      bar('wb-bar-shown', at, one.shown / most, false),
      // Few among many would be no pixel high: the selected ones have a scale of their own.
      selects && one.selected > 0 ? bar('wb-bar-selected', at, one.selected / chosen, true) : null
    ])
  );
}

/** One row a value, which hides and shows it. */
class CategoryChart implements Chart {
  readonly element: HTMLElement;
  private readonly rows = h('div', { class: 'wb-value-rows' });
  private readonly note = h('span', { class: 'wb-quiet' });
  private key = '';

  constructor(
    name: string,
    private readonly asks: Asks,
    private readonly scene: () => Scene
  ) {
    this.element = h(
      'section',
      { class: 'wb-histogram-part', 'data-column': name },
      h('h3', {}, h('span', {}, name), this.note),
      this.rows
    );
  }

  update(column: Column, scene: Scene): void {
    if (column.kind !== 'category') {
      return;
    }
    const others = shownBy(scene.now, scene.columns, scene.cloud, column.name);
    const bars = categoryBars(column, others, scene.selected);
    const order = bars
      .map((_, index) => index)
      .sort((a, b) => bars[b]!.selected - bars[a]!.selected || bars[b]!.all - bars[a]!.all)
      .slice(0, MOST_VALUES);
    const key = JSON.stringify([column.values, order]);
    if (key !== this.key) {
      this.key = key;
      replace(this.rows, ...order.map(index => this.row(column, index)));
    }
    const rest = column.values.length - order.length;
    setText(this.note, rest > 0 ? `${order.length} of ${grouped(column.values.length)} values` : '');
    const most = Math.max(1, ...bars.map(bar => bar.all));
    const hidden = new Set(hiddenOf(scene.now, column.name));
    order.forEach((index, at) =>
      fillRow(
        this.rows.children[at] as HTMLElement,
        bars[index]!,
        most,
        scene.selected.length > 0,
        hidden.has(column.values[index]!)
      )
    );
  }

  private row(column: Category, index: number): HTMLElement {
    const value = column.values[index]!;
    const element = h(
      'button',
      { type: 'button', class: 'wb-value-row', 'data-value': value, 'data-testid': 'wb-value-row' },
      h('span', {}, value === '' ? '(empty)' : value),
      h('i', {}, h('u', { class: 'wb-bar-all' }), h('u', { class: 'wb-bar-shown' })),
      h('em')
    );
    hides(element, column, value, () => this.scene().now, this.asks);
    return element;
  }
}

function fillRow(row: HTMLElement, bar: Bar, most: number, selects: boolean, hidden: boolean): void {
  const [all, shown] = row.querySelectorAll('u');
  all!.style.width = `${(100 * bar.all) / most}%`;
  shown!.style.width = `${(100 * bar.shown) / most}%`;
  setText(
    row.lastElementChild!,
    selects ? `${grouped(bar.selected)} / ${grouped(bar.shown)}` : grouped(bar.shown)
  );
  row.setAttribute('aria-pressed', String(!hidden));
  row.title =
    `${grouped(bar.shown)} of ${grouped(bar.all)} shown` +
    (selects ? `, ${grouped(bar.selected)} selected` : '') +
    '. Click hides or shows them; double click, or Shift and Enter, shows these alone.';
}
