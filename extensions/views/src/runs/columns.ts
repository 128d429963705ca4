/** Columns of the table of hyperparameters as axes: where a value lies, and which rows brushes keep. */
import type { RunsTable } from '../protocol';
import { figure } from '../common/numbers';
import { Scale, ticks, tickText } from '../common/scales';
import { logTicks } from '../training/axis';

type Cell = RunsTable['rows'][number]['cells'][number];

/** A range of an axis, as shares of its height. */
export interface Brushed {
  readonly low: number;
  readonly high: number;
}

/** From this ratio on positive numbers stand by their logarithms. */
const LOG = 100;

/** Where the values of a column lie: 0 is below, 1 above. */
export class ColumnAxis {
  readonly log: boolean;
  readonly labels: readonly string[];
  private readonly scale: Scale;

  constructor(
    readonly name: string,
    readonly numbers: boolean,
    cells: readonly Cell[]
  ) {
    const values = cells.filter((cell): cell is number => typeof cell === 'number');
    const [low, high] = [Math.min(...values), Math.max(...values)];
    this.labels = numbers
      ? []
      : [...new Set(cells.filter(cell => cell !== null).map(String))].sort((a, b) =>
          a.localeCompare(b, 'en', { numeric: true })
        );
    this.log = numbers && low > 0 && high / low >= LOG;
    const to = (value: number): number => (this.log ? Math.log10(value) : value);
    this.scale = values.length === 0 || !numbers ? new Scale(0, 1, 0, 1) : new Scale(to(low), to(high), 0, 1);
  }

  /** Where a cell lies; null where it has no place: nothing is there, or no finite number. */
  at(cell: Cell): number | null {
    if (!this.numbers) {
      const place = cell === null ? -1 : this.labels.indexOf(String(cell));
      return place < 0 ? null : this.labels.length > 1 ? place / (this.labels.length - 1) : 0.5;
    }
    if (typeof cell !== 'number' || (this.log && cell <= 0)) {
      return null;
    }
    // One value alone stands in the middle.
    return this.scale.high > this.scale.low ? this.scale.at(this.log ? Math.log10(cell) : cell) : 0.5;
  }

  /** The number at a place. */
  value(share: number): number {
    const value = this.scale.invert(share);
    return this.log ? 10 ** value : value;
  }

  /** Words beside the axis, about `count` of them, with their places. */
  ticks(count: number): (readonly [number, string])[] {
    if (!this.numbers) {
      const every = Math.ceil(this.labels.length / count);
      return this.labels.filter((_, at) => at % every === 0).map(label => [this.at(label)!, label]);
    }
    const { low, high } = this.scale;
    if (!(high > low)) {
      return [[0.5, figure(this.value(0))]];
    }
    if (this.log) {
      return logTicks(10 ** low, 10 ** high, count).map(value => [this.at(value)!, figure(value)]);
    }
    const values = ticks(low, high, count);
    return values.map(value => [this.scale.at(value), tickText(value, values)]);
  }
}

/** Rows that all brushes keep: one without a place on a brushed axis is left out. */
export function keptRows(
  { rows }: RunsTable,
  axes: readonly ColumnAxis[],
  brushes: ReadonlyMap<string, Brushed>
): Set<number> {
  const kept = new Set<number>();
  rows.forEach((row, index) => {
    const inside = axes.every((axis, column) => {
      const brush = brushes.get(axis.name);
      const at = axis.at(row.cells[column] ?? null);
      return brush === undefined || (at !== null && at >= brush.low - 1e-9 && at <= brush.high + 1e-9);
    });
    if (inside) {
      kept.add(index);
    }
  });
  return kept;
}

/** The order of rows by a column: what is no number, or nothing, comes last either way. */
export function sortedRows({ rows }: RunsTable, column: number, down: boolean): number[] {
  const sign = down ? -1 : 1;
  const rank = (cell: Cell): number => (cell === null ? 2 : typeof cell === 'number' ? 0 : 1);
  return [...rows.keys()].sort((a, b) => {
    const [one, two] = [rows[a]!.cells[column] ?? null, rows[b]!.cells[column] ?? null];
    if (rank(one) !== rank(two)) {
      return rank(one) - rank(two);
    }
    const order =
      typeof one === 'number' && typeof two === 'number'
        ? one - two
        : String(one).localeCompare(String(two), 'en', { numeric: true });
    return order === 0 ? a - b : sign * order;
  });
}
