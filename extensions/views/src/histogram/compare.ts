/** Two settings of all observers beside each other: A, which was kept, and B, with their differences in figures. */
import type { Answer } from '../host';
import type { CompareEvent, Comparison, ModelFigures } from '../protocol';
import { h, replace } from '../common/dom';
import { decibels, percent, signed } from '../common/numbers';
import { button } from '../common/parts';

type Send = (event: CompareEvent) => Promise<Answer | void>;
type Row = readonly [name: string, a: string, b: string, difference: string, id?: string];

function difference(a: number | null, b: number | null, unit: string, factor = 1): string {
  return a === null || b === null ? '' : `${signed((b - a) * factor, 1)} ${unit}`;
}

function ofModel(a: ModelFigures, b: ModelFigures): Row[] {
  const rows: Row[] = [['model', decibels(a.sqnr), decibels(b.sqnr), difference(a.sqnr, b.sqnr, 'dB')]];
  if (a.accuracy !== null || b.accuracy !== null) {
    rows.push([
      'accuracy',
      percent(a.accuracy),
      percent(b.accuracy),
      difference(a.accuracy, b.accuracy, 'points', 100)
    ]);
  }
  return rows;
}

/** The rows of the table: the model first, then what is set otherwise. */
export function differences(comparison: Comparison): Row[] {
  const layers = comparison.differences.map(
    one => [one.id, one.a, one.b, difference(one.a_sqnr, one.b_sqnr, 'dB'), one.id] as Row
  );
  return [...ofModel(comparison.a, comparison.b), ...layers];
}

/** The buttons, and the table under them while two sides are compared. */
export class Compare {
  readonly buttons = h('span', { class: 'wb-compare', role: 'group', 'aria-label': 'Compare two settings' });
  readonly table = h('div', { class: 'wb-compare-table', 'data-testid': 'wb-compare-table', hidden: true });
  private key = '';

  constructor(
    private readonly send: Send,
    private readonly open: (id: string) => void
  ) {}

  /** Shows another comparison, or that there is none. */
  accept(comparison: Comparison | null): void {
    const key = JSON.stringify(comparison);
    if (key === this.key) {
      return;
    }
    this.key = key;
    const focused = this.buttons.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset['testid']
      : undefined;
    const made = comparison ? this.two(comparison) : [this.keep()];
    replace(this.buttons, ...made);
    made.find(one => one.dataset['testid'] === focused)?.focus();
    this.table.hidden = comparison === null;
    replace(this.table, ...(comparison ? this.rows(comparison) : []));
  }

  private keep(): HTMLElement {
    return button('compare A|B', () => void this.send({ type: 'compare', what: 'keep' }), {
      'data-testid': 'wb-keep',
      title: 'Keep the settings of all observers as A, and go on as B'
    });
  }

  private two({ active }: Comparison): HTMLElement[] {
    const side = (name: 'A' | 'B'): HTMLElement =>
      button(name, () => active !== name && void this.send({ type: 'compare', what: 'switch' }), {
        'data-testid': `wb-side-${name}`,
        'aria-pressed': String(active === name),
        title: active === name ? `${name} is in force` : `Set all observers as in ${name}`
      });
    const end = button('×', () => void this.send({ type: 'compare', what: 'leave' }), {
      class: 'wb-button wb-button-plain',
      'data-testid': 'wb-leave',
      'aria-label': 'Compare no longer',
      title: `Compare no longer: ${active} stays in force`
    });
    return [side('A'), side('B'), end];
  }

  private rows(comparison: Comparison): HTMLElement[] {
    const rows = differences(comparison).map(([name, a, b, change, id]) => {
      const first = id
        ? button(name, () => this.open(id), { class: 'wb-button wb-button-plain', title: `Open ${name}` })
        : name;
      return h(
        'tr',
        {},
        h('th', { scope: 'row' }, first),
        h('td', { title: a }, a),
        h('td', { title: b }, b),
        h('td', { class: 'wb-compare-change' }, change)
      );
    });
    const mark = (name: string): string => (comparison.active === name ? `${name}, in force` : name);
    const head = h(
      'tr',
      {},
      h('td', {}),
      h('th', { scope: 'col' }, mark('A')),
      h('th', { scope: 'col' }, mark('B')),
      h('th', { scope: 'col' }, 'B − A')
    );
    const table = h('table', {}, h('thead', {}, head), h('tbody', {}, ...rows));
    return comparison.differences.length > 0
      ? [table]
      : [h('p', { class: 'wb-quiet' }, 'A is kept. Change something: the differences will stand here.')];
  }
}
