/** Which points an arrangement shows. */
import type { Arrangement } from './arrangement';
import { placesOf, type Lookup } from './cloud';
import type { Column } from './columns';

/**
 * One byte a point, 1 where it is shown; null where all are. A filter on a column that is not there hides nothing. With
 * `but` the filters of that column are left aside: its own histogram shows what they leave out.
 */
export function shownBy(
  now: Arrangement,
  columns: ReadonlyMap<string, Column>,
  cloud: Lookup,
  but = ''
): Uint8Array | null {
  const tests = [...hiddenTests(now, columns, but), ...rangeTests(now, columns, but)];
  const { count } = cloud;
  // What stands for many points is none of those that were isolated, and hides none of them.
  const isolated = cloud.weights === null ? now.isolated : null;
  if (tests.length === 0 && isolated === null) {
    return null;
  }
  const shown = new Uint8Array(count).fill(isolated ? 0 : 1);
  for (const point of placesOf(cloud, isolated ?? [])) {
    shown[point] = 1;
  }
  for (const test of tests) {
    for (let point = 0; point < count; point++) {
      if (shown[point] === 1 && !test(point)) {
        shown[point] = 0;
      }
    }
  }
  return shown;
}

type Test = (point: number) => boolean;

function hiddenTests(now: Arrangement, columns: ReadonlyMap<string, Column>, but: string): Test[] {
  return now.hidden.flatMap(({ column: name, values }) => {
    const column = columns.get(name);
    if (column?.kind !== 'category' || name === but) {
      return [];
    }
    const wanted = new Set(values);
    const passes = column.values.map(value => !wanted.has(value));
    return [(point: number) => passes[column.codes[point]!] ?? true];
  });
}

function rangeTests(now: Arrangement, columns: ReadonlyMap<string, Column>, but: string): Test[] {
  return now.ranges.flatMap(({ column: name, low, high }) => {
    const column = columns.get(name);
    return column?.kind === 'number' && name !== but
      ? // What is no number lies in no range.
        [(point: number) => column.numbers[point]! >= low && column.numbers[point]! <= high]
      : [];
  });
}

/** How many points are shown. */
export function countShown(shown: Uint8Array | null, count: number): number {
  return shown ? shown.reduce((sum, one) => sum + one, 0) : count;
}
