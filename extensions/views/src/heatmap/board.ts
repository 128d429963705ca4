/** The board: methods in rows, figures in columns, the best of each marked; a click opens a row. */
import type { BoardCell, BoardColumn, BoardRow, BoardState } from '../protocol';
import { float32, StateError } from '../common/buffers';
import { h, replace } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { duration, exact, figure, grouped } from '../common/numbers';
import { button } from '../common/parts';
import { bitmap, fitCanvas } from '../common/raster';
import { reachOf, overlay } from './tone';
import type { Act, Stage } from './stage';

const SIDE = 56;
/** A heatmap of one row is at least as high. */
const LEAST = 16;
const STANDINGS: Readonly<Record<BoardRow['standing'], readonly [string, string]>> = {
  waiting: ['○', 'waits'],
  running: ['▶', 'running'],
  done: ['✓', 'done'],
  refused: ['✕', 'refused'],
  stopped: ['■', 'stopped']
};

/** By which column rows are sorted, and which way; null as Python has them. */
export interface Order {
  readonly column: number;
  readonly down: boolean;
}

/** Rows in order; those without the figure come last, whichever way. */
export function sorted(rows: readonly BoardRow[], order: Order | null): readonly BoardRow[] {
  if (!order) {
    return rows;
  }
  const value = (row: BoardRow): number | null => row.cells[order.column]?.value ?? null;
  return [...rows].sort((a, b) => {
    const [first, second] = [value(a), value(b)];
    if (first === null || second === null) {
      return (first === null ? 1 : 0) - (second === null ? 1 : 0);
    }
    return order.down ? second - first : first - second;
  });
}

/** The best figure of a column; null where none is better, or there is but one. */
export function bestOf(rows: readonly BoardRow[], column: number, better: string): number | null {
  const values = rows
    .map(row => row.cells[column])
    .filter((cell): cell is BoardCell => cell !== undefined && cell.value !== null)
    .map(cell => cell.value!);
  if (better === '' || values.length < 2) {
    return null;
  }
  return better === 'high' ? Math.max(...values) : Math.min(...values);
}

/** A figure as text: times as times. */
export function cellText(cell: BoardCell, column: BoardColumn): string {
  if (cell.value === null) {
    return '–';
  }
  return column.name === 'time' ? duration(cell.value) : figure(cell.value);
}

/** The picture of a board. */
export class BoardPicture implements Act<BoardState> {
  private readonly words = h('div', { class: 'wb-board-words' });
  private readonly stop = button('■ Stop', () => void this.stage.send({ type: 'stop' }), {
    'data-testid': 'wb-stop',
    title: 'Keep the rows that are done'
  });
  private readonly refusal = h('div', {
    class: 'wb-notice',
    'data-kind': 'wrong',
    role: 'alert',
    'data-testid': 'wb-refusal',
    hidden: true
  });
  private readonly table = h('table', { class: 'wb-board', 'data-testid': 'wb-board' });
  private readonly meaning = h(
    'p',
    { class: 'wb-quiet wb-board-note' },
    '★ best of its column · a column’s head sorts · a row opens as a heatmap'
  );
  readonly element = h(
    'div',
    { class: 'wb-heat-page' },
    h('div', { class: 'wb-board-top' }, this.words, this.stop),
    this.refusal,
    h('div', { class: 'wb-board-scroll', tabindex: 0, role: 'region', 'aria-label': 'Methods' }, this.table),
    this.meaning
  );
  private state: BoardState | null = null;
  private order: Order | null = null;
  private maps = new Map<string, Float32Array>();
  private readonly pictures = new Map<string, HTMLCanvasElement>();

  constructor(private readonly stage: Stage) {}

  accept(state: BoardState, buffers: readonly DataView[]): void {
    const cells = state.height * state.width;
    if (state.rows.some(row => row.cells.length !== state.columns.length)) {
      throw new StateError('a row of the board has not as many figures as there are columns');
    }
    this.maps = new Map(
      state.rows
        .filter(row => row.attribution_buffer !== null)
        .map(row => [
          row.method,
          float32(buffers, row.attribution_buffer!, cells, row.title).subarray(0, cells)
        ])
    );
    this.state = state;
    const done = state.rows.filter(row => row.standing === 'done').length;
    const refused = state.rows.filter(row => row.standing === 'refused').length;
    replace(
      this.words,
      h('span', {}, state.question),
      h(
        'span',
        { 'data-testid': 'wb-progress-words', role: 'status' },
        `${grouped(done)} of ${grouped(state.rows.length)} methods` +
          (refused ? `, ${grouped(refused)} refused` : '') +
          (state.running ? ` · ${duration(state.seconds)} so far` : ` · ${duration(state.seconds)}`)
      )
    );
    this.stop.hidden = !state.running;
    const reason = state.refusal?.reason ?? '';
    replace(this.refusal, reason && h('span', { 'aria-hidden': 'true' }, '✕'), h('span', {}, reason));
    this.refusal.hidden = reason === '';
    this.build(state);
  }

  draw(): void {
    const { state } = this;
    if (!state) {
      return;
    }
    const { dark, paper } = this.stage.theme();
    const scale = Math.min(SIDE / state.width, SIDE / state.height);
    // A row of numbers is as thick as can be seen.
    const high = Math.max(LEAST, state.height * scale);
    for (const [method, canvas] of this.pictures) {
      const values = this.maps.get(method)!;
      const blank = new ImageData(state.width, state.height);
      blank.data.fill(255);
      const tone = { sign: 'all', map: 'viridis', blend: 1, percentile: 99 } as const;
      // Methods have scales of their own: what is compared is where they look.
      const reach = reachOf(values, 'all', 99);
      const context = fitCanvas(canvas, state.width * scale, high);
      context.imageSmoothingEnabled = scale < 1;
      context.drawImage(
        bitmap(overlay(blank, values, tone, reach, dark, paper)),
        0,
        0,
        state.width * scale,
        high
      );
    }
  }

  exports(): Exports {
    const { state } = this;
    if (!state) {
      return {};
    }
    return {
      canvas: () => this.joined(),
      caption: () => [
        state.question,
        ...state.rows.map(row =>
          [
            row.title,
            ...row.cells.map(
              (cell, at) => `${state.columns[at]!.title} ${cellText(cell, state.columns[at]!)}`
            )
          ].join(' · ')
        )
      ],
      csv: () =>
        csv([
          ['method', 'standing', ...state.columns.map(column => column.name)],
          ...state.rows.map(row => [row.method, row.standing, ...row.cells.map(cell => cell.value ?? '')])
        ]),
      json: () => state
    };
  }

  destroy(): void {
    this.pictures.clear();
  }

  private joined(): HTMLCanvasElement {
    const parts = [...this.pictures.values()];
    const canvas = h('canvas', {
      width: Math.max(1, ...parts.map(one => one.width)),
      height: Math.max(
        1,
        parts.reduce((sum, one) => sum + one.height + 8, 0)
      )
    });
    let y = 0;
    for (const one of parts) {
      canvas.getContext('2d')?.drawImage(one, 0, y);
      y += one.height + 8;
    }
    return canvas;
  }

  private build(state: BoardState): void {
    this.pictures.clear();
    const heads = state.columns.map((column, at) => this.head(column, at));
    const best = state.columns.map((column, at) => bestOf(state.rows, at, column.better));
    replace(
      this.table,
      h(
        'thead',
        {},
        h('tr', {}, h('th', { scope: 'col' }, 'method'), h('th', { scope: 'col' }, 'heatmap'), ...heads)
      ),
      h('tbody', {}, ...sorted(state.rows, this.order).map(row => this.row(row, state.columns, best)))
    );
  }

  private head(column: BoardColumn, at: number): HTMLElement {
    const { order } = this;
    const mine = order?.column === at;
    const way = column.better === 'low' ? ' ↓' : column.better === 'high' ? ' ↑' : '';
    const sort = button(
      `${column.title}${way}${mine ? (order.down ? ' ▾' : ' ▴') : ''}`,
      () => this.sort(at),
      {
        class: 'wb-button wb-button-plain',
        title: `${column.meaning}${column.better ? ` ${column.better === 'low' ? 'Lower' : 'Higher'} is better.` : ''}`,
        'data-testid': 'wb-sort',
        'data-column': column.name,
        'aria-label': `Sort by ${column.title}`
      }
    );
    return h(
      'th',
      { scope: 'col', 'aria-sort': mine ? (order.down ? 'descending' : 'ascending') : 'none' },
      sort
    );
  }

  private row(row: BoardRow, columns: readonly BoardColumn[], best: readonly (number | null)[]): HTMLElement {
    const [sign, word] = STANDINGS[row.standing];
    const ready = this.maps.has(row.method);
    const open = (): void => void this.stage.send({ type: 'open_row', method: row.method });
    const name = button(row.title, open, {
      class: 'wb-button wb-button-plain wb-board-name',
      disabled: !ready,
      'data-testid': 'wb-open-row',
      'data-method': row.method,
      title: ready ? `Open ${row.title} as a heatmap` : word
    });
    let picture: HTMLElement | null = null;
    if (ready) {
      const canvas = h('canvas', { role: 'img', 'aria-label': `Heatmap of ${row.title}` });
      canvas.addEventListener('click', open);
      this.pictures.set(row.method, canvas);
      picture = canvas;
    }
    const standing = h(
      'div',
      { class: 'wb-board-standing', 'data-standing': row.standing },
      `${sign} ${word}`
    );
    const made = row.made ? h('div', { class: 'wb-board-made' }, row.made) : null;
    const first = h('th', { scope: 'row' }, name, made, standing);
    const line = h('tr', {
      'data-testid': 'wb-board-row',
      'data-method': row.method,
      'data-standing': row.standing
    });
    if (row.trouble && !ready) {
      const trouble = h(
        'td',
        { colspan: columns.length + 1, class: 'wb-board-trouble' },
        h('div', {}, row.trouble)
      );
      replace(line, first, trouble);
      return line;
    }
    replace(
      line,
      first,
      h('td', {}, picture),
      ...row.cells.map((cell, at) => this.cell(cell, columns[at]!, best[at] ?? null, row.standing))
    );
    return line;
  }

  private cell(
    cell: BoardCell,
    column: BoardColumn,
    best: number | null,
    standing: BoardRow['standing']
  ): HTMLElement {
    const isBest = best !== null && cell.value === best;
    const waits =
      cell.value === null && cell.note === '' && (standing === 'waiting' || standing === 'running');
    const title = cell.note || (cell.value === null ? word(standing) : exact(cell.value));
    return h(
      'td',
      {
        class: 'wb-board-figure',
        'data-column': column.name,
        'data-best': isBest,
        'data-note': cell.note !== '',
        title
      },
      waits ? h('span', { class: 'wb-quiet' }, '…') : cellText(cell, column),
      isBest ? h('span', { class: 'wb-board-star', title: 'best of this column' }, ' ★') : null,
      cell.note && cell.value !== null ? h('span', { class: 'wb-board-warn' }, ' ▲') : null
    );
  }

  private sort(at: number): void {
    const { order, state } = this;
    const better = state?.columns[at]?.better;
    // The best first, then the worst first, then as they came.
    const first = better === 'high';
    if (order?.column !== at) {
      this.order = { column: at, down: first };
    } else {
      this.order = order.down === first ? { column: at, down: !first } : null;
    }
    if (state) {
      this.build(state);
      this.stage.redraw();
    }
  }
}

function word(standing: BoardRow['standing']): string {
  return STANDINGS[standing][1];
}
