/** How a person has arranged the picture, as one value: undo goes back to an earlier one, a bookmark keeps one. */
import type { ScatterArrangement } from '../protocol';

export type Arrangement = ScatterArrangement;

/** Nothing hidden, nothing selected, the first look. */
export const PLAIN_ARRANGEMENT: Arrangement = {
  projection: '',
  camera: [],
  label: '',
  colour: '',
  hidden: [],
  ranges: [],
  isolated: null,
  selected: [],
  metric: 'cosine',
  k: 12
};

const MOST_STEPS = 200;

/** Earlier arrangements, and those that were undone. */
export class History {
  private past: Arrangement[] = [];
  private future: Arrangement[] = [];
  private last = '';

  constructor(public now: Arrangement = PLAIN_ARRANGEMENT) {}

  /** Takes another arrangement. Steps of one `kind` right after one another are one step back: a range that is dragged. */
  take(next: Arrangement, kind = ''): void {
    if (kind === '' || kind !== this.last) {
      this.past.push(this.now);
      if (this.past.length > MOST_STEPS) {
        this.past.shift();
      }
    }
    this.last = kind;
    this.future = [];
    this.now = next;
  }

  /** Changes what is now without a step: what Python or another view did is not undone here. */
  follow(change: Partial<Arrangement>): void {
    this.now = { ...this.now, ...change };
  }

  /** Goes a step back, or forward again; returns whether there was one. */
  step(back: boolean): boolean {
    const [from, to] = back ? [this.past, this.future] : [this.future, this.past];
    const next = from.pop();
    if (next) {
      to.push(this.now);
      this.now = next;
      this.last = '';
    }
    return next !== undefined;
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }
}

/** An arrangement with one value of a column hidden, or shown where it was hidden. */
export function toggled(now: Arrangement, column: string, value: string): Arrangement {
  const values = hiddenOf(now, column);
  return withHidden(
    now,
    column,
    values.includes(value) ? values.filter(one => one !== value) : [...values, value]
  );
}

/** An arrangement in which exactly these values of a column are hidden. */
export function withHidden(now: Arrangement, column: string, values: readonly string[]): Arrangement {
  const others = now.hidden.filter(one => one.column !== column);
  return { ...now, hidden: values.length > 0 ? [...others, { column, values: [...values] }] : others };
}

/** The values of a column that are hidden. */
export function hiddenOf(now: Arrangement, column: string): readonly string[] {
  return now.hidden.find(one => one.column === column)?.values ?? [];
}

/** An arrangement that shows of a column what lies in a range; null shows all of it. */
export function withRange(
  now: Arrangement,
  column: string,
  range: readonly [number, number] | null
): Arrangement {
  const others = now.ranges.filter(one => one.column !== column);
  return { ...now, ranges: range ? [...others, { column, low: range[0], high: range[1] }] : others };
}

/** The range of a column that is shown; null where all of it is. */
export function rangeOf(now: Arrangement, column: string): readonly [number, number] | null {
  const range = now.ranges.find(one => one.column === column);
  return range ? [range.low, range.high] : null;
}

/** Whether anything is filtered away. */
export function isFiltered(now: Arrangement): boolean {
  return now.hidden.length > 0 || now.ranges.length > 0 || now.isolated !== null;
}

/** An arrangement that shows all points. */
export function withoutFilters(now: Arrangement): Arrangement {
  return { ...now, hidden: [], ranges: [], isolated: null };
}
