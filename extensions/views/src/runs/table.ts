/** The table of hyperparameters, with parallel coordinates above it. */
import type { RunsState, RunsTable } from '../protocol';
import { h, replace, setText } from '../common/dom';
import { exact, figure, grouped } from '../common/numbers';
import { button } from '../common/parts';
import { clamp } from '../common/scales';
import type { Theme } from '../common/theme';
import { runColour } from '../training/lines';
import { ColumnAxis, keptRows, sortedRows, type Brushed } from './columns';
import { Parallel, written } from './parallel';

/** More columns than this are found by a pattern. */
const MOST_AXES = 12;

/** Whom the table tells. */
export interface TableHost {
  /** Runs that brushes leave out. */
  brushed(runs: ReadonlySet<number>): void;
  /** Runs of a row were picked, or let go. */
  pick(runs: readonly number[]): void;
  redraw(): void;
  say(words: string): void;
}

/** The part of the view. */
export class TablePart {
  readonly element: HTMLElement;
  readonly parallel: Parallel;
  private readonly brushes = new Map<string, Brushed>();
  private readonly search = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: 'columns: a pattern',
    'aria-label': 'Show only columns whose names match this regular expression',
    'data-testid': 'wb-find-columns'
  });
  private readonly which = h('select', {
    class: 'wb-select',
    'aria-label': 'Column to narrow',
    'data-testid': 'wb-brush-column'
  });
  private readonly low = h('input', {
    type: 'number',
    step: 'any',
    class: 'wb-input wb-input-number',
    'aria-label': 'Least value kept',
    'data-testid': 'wb-brush-low'
  });
  private readonly high = h('input', {
    type: 'number',
    step: 'any',
    class: 'wb-input wb-input-number',
    'aria-label': 'Greatest value kept',
    'data-testid': 'wb-brush-high'
  });
  private readonly all: HTMLButtonElement;
  private readonly facts = h('span', { class: 'wb-quiet', 'data-testid': 'wb-table-facts' });
  private readonly scroll: HTMLElement;
  private readonly table = h('table', { class: 'wb-runs-table', 'data-testid': 'wb-table' });
  private data: RunsTable | null = null;
  private axes: ColumnAxis[] = [];
  private columns: number[] = [];
  private sort: { readonly name: string; readonly down: boolean } | null = null;
  private names: string[] = [];

  constructor(private readonly host: TableHost) {
    this.parallel = new Parallel({
      brush: (name, range) => this.brush(name, range),
      pick: row => this.host.pick(this.data!.rows[row]!.runs),
      say: words => this.host.say(words)
    });
    this.all = button('keep all', () => this.clear(), {
      'data-testid': 'wb-brush-none',
      title: 'Let go of all that is narrowed'
    });
    this.scroll = h('div', { class: 'wb-runs-wide' }, this.parallel.svg as unknown as HTMLElement);
    this.element = h(
      'div',
      { class: 'wb-runs-hyper', 'data-testid': 'wb-hyperparameters' },
      h(
        'div',
        { class: 'wb-train-tools' },
        this.search,
        h('span', { class: 'wb-field' }, 'keep', this.which, this.low, '–', this.high, this.all),
        this.facts
      ),
      this.scroll,
      h(
        'div',
        { class: 'wb-runs-wide', tabindex: 0, role: 'region', 'aria-label': 'Hyperparameters' },
        this.table
      )
    );
    this.search.addEventListener('input', () => {
      this.arrange();
      this.host.redraw();
    });
    this.which.addEventListener('change', () => this.writeFields());
    for (const field of [this.low, this.high]) {
      field.addEventListener('change', () => this.readFields());
    }
  }

  /** Takes a table. */
  accept({ table, runs }: RunsState): void {
    this.data = table;
    this.names = runs.map(run => run.name);
    this.arrange();
  }

  /** Draws at a width; `picked` are runs. */
  draw(width: number, picked: ReadonlySet<number>, theme: Theme): void {
    const { data } = this;
    if (!data) {
      return;
    }
    const part = this.part();
    const kept = keptRows(part, this.axes, this.brushes);
    const rows = new Set([...data.rows.keys()].filter(row => picked.has(data.rows[row]!.run)));
    const { names, axes, brushes } = this;
    this.parallel.draw({ table: part, names, axes, brushes, kept, picked: rows }, width, theme);
    this.write(part, kept, rows, theme);
    const hiddenColumns = data.columns.length - this.columns.length;
    const words = [
      `${grouped(kept.size)} of ${grouped(data.rows.length)} runs`,
      hiddenColumns > 0 ? `${this.columns.length} of ${data.columns.length} columns` : '',
      data.left_out > 0 ? `${grouped(data.left_out)} rows and columns are too many` : ''
    ];
    setText(this.facts, words.filter(Boolean).join(' · '));
    this.all.disabled = this.brushes.size === 0;
  }

  /** The table as rows of cells, its head first. */
  rows(): (string | number)[][] {
    const { data } = this;
    return data
      ? [
          ['run', ...data.columns.map(column => column.name)],
          ...data.rows.map(row => [this.names[row.run] ?? '', ...row.cells.map(cell => cell ?? '')])
        ]
      : [];
  }

  /** Lets go. */
  destroy(): void {
    this.parallel.destroy();
  }

  /** The table of the columns that are shown. */
  private part(): RunsTable {
    const { data, columns } = this;
    return {
      ...data!,
      columns: columns.map(column => data!.columns[column]!),
      rows: data!.rows.map(row => ({ ...row, cells: columns.map(column => row.cells[column] ?? null) }))
    };
  }

  private arrange(): void {
    const { data } = this;
    if (!data) {
      return;
    }
    let pattern = /(?:)/;
    try {
      pattern = new RegExp(this.search.value, 'i');
      this.search.removeAttribute('aria-invalid');
    } catch {
      this.search.setAttribute('aria-invalid', 'true');
    }
    this.columns = [...data.columns.keys()]
      .filter(column => pattern.test(data.columns[column]!.name))
      .slice(0, MOST_AXES);
    this.axes = this.columns.map(column => {
      const { name, numbers } = data.columns[column]!;
      return new ColumnAxis(
        name,
        numbers,
        data.rows.map(row => row.cells[column] ?? null)
      );
    });
    this.search.hidden = data.columns.length <= 4;
    const numeric = this.axes.filter(axis => axis.numbers).map(axis => axis.name);
    if (this.which.dataset['key'] !== JSON.stringify(numeric)) {
      const before = this.which.value;
      this.which.dataset['key'] = JSON.stringify(numeric);
      replace(this.which, ...numeric.map(name => h('option', { value: name }, name)));
      this.which.value = numeric.includes(before) ? before : (numeric[0] ?? '');
      this.writeFields();
    }
  }

  private write(part: RunsTable, kept: ReadonlySet<number>, picked: ReadonlySet<number>, theme: Theme): void {
    const { sort } = this;
    const column = sort ? part.columns.findIndex(one => one.name === sort.name) : -1;
    const order = (sort && column >= 0 ? sortedRows(part, column, sort.down) : [...part.rows.keys()]).filter(
      row => kept.has(row)
    );
    const key = JSON.stringify([part, order, [...picked], sort, theme.dark, this.names]);
    if (this.table.dataset['key'] === key) {
      return;
    }
    this.table.dataset['key'] = key;
    const head = part.columns.map(({ name, kind }) => {
      const sorted = sort?.name === name ? (sort.down ? 'descending' : 'ascending') : 'none';
      const sign = sorted === 'none' ? '' : sort!.down ? ' ▼' : ' ▲';
      const sorter = button(`${name}${sign}`, () => this.sortBy(name), {
        class: 'wb-button wb-button-plain',
        'data-testid': 'wb-sort',
        'data-column': name,
        title: name
      });
      return h('th', { scope: 'col', 'aria-sort': sorted, 'data-kind': kind }, sorter);
    });
    const body = order.map(row => this.line(part, row, picked.has(row), theme));
    replace(
      this.table,
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'run'), ...head)),
      h('tbody', {}, ...body)
    );
  }

  private line(part: RunsTable, row: number, picked: boolean, theme: Theme): HTMLElement {
    const { run, runs, cells } = part.rows[row]!;
    const swatch = h('i', { 'aria-hidden': 'true' });
    swatch.style.background = runColour(run, theme.dark);
    const name = h(
      'button',
      {
        type: 'button',
        class: 'wb-runs-name',
        'aria-pressed': String(picked),
        'data-testid': 'wb-pick-row',
        'data-row': row,
        title: this.names[run] ?? ''
      },
      swatch,
      this.names[run] ?? ''
    );
    const line = h(
      'tr',
      { 'data-picked': picked },
      h('th', { scope: 'row' }, name),
      ...cells.map((cell, column) =>
        h(
          'td',
          {
            'data-numbers': part.columns[column]!.numbers,
            title: typeof cell === 'number' ? exact(cell) : null
          },
          written(cell)
        )
      )
    );
    line.addEventListener('click', () => this.host.pick(runs));
    return line;
  }

  private sortBy(name: string): void {
    // Up, down, and as it was.
    this.sort =
      this.sort?.name !== name ? { name, down: false } : this.sort.down ? null : { name, down: true };
    this.host.redraw();
  }

  private brush(name: string, range: Brushed | null): void {
    if (range) {
      this.brushes.set(name, range);
    } else {
      this.brushes.delete(name);
    }
    if (this.axes.find(axis => axis.name === name)?.numbers) {
      this.which.value = name;
    }
    this.writeFields();
    this.tell();
  }

  private clear(): void {
    this.brushes.clear();
    this.writeFields();
    this.tell();
  }

  private tell(): void {
    const { data } = this;
    if (data) {
      const part = this.part();
      const kept = keptRows(part, this.axes, this.brushes);
      const keptRuns = new Set([...kept].flatMap(row => data.rows[row]!.runs));
      const out = data.rows.flatMap((row, index) => (kept.has(index) ? [] : row.runs));
      // A run that two rows share stays while one of them does.
      this.host.brushed(new Set(out.filter(run => !keptRuns.has(run))));
    }
    this.host.redraw();
  }

  private writeFields(): void {
    const axis = this.axes.find(one => one.name === this.which.value);
    const brush = this.brushes.get(this.which.value);
    for (const [field, share] of [
      [this.low, brush?.low],
      [this.high, brush?.high]
    ] as const) {
      field.value = axis && share !== undefined ? String(Number(axis.value(share).toPrecision(4))) : '';
      field.disabled = axis === undefined;
      const rim = field === this.low ? 0 : 1;
      field.placeholder = axis ? figure(axis.value(rim)) : '';
    }
  }

  private readFields(): void {
    const axis = this.axes.find(one => one.name === this.which.value);
    if (!axis) {
      return;
    }
    const read = (field: HTMLInputElement, empty: number): number => {
      const value = Number(field.value);
      return field.value === '' || !Number.isFinite(value) ? empty : clamp(axis.at(value) ?? empty, 0, 1);
    };
    const [low, high] = [read(this.low, 0), read(this.high, 1)];
    this.brush(
      axis.name,
      low <= 0 && high >= 1 ? null : { low: Math.min(low, high), high: Math.max(low, high) }
    );
  }
}
