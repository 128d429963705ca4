/** What a search means: words, an expression between slashes, one column, or a point by its number. */
import { pointOf, type Lookup } from './cloud';
import { isHere, textOf, type Column } from './columns';

/** What was found, and what is wrong with what was asked; empty where nothing is. */
export interface Found {
  readonly points: readonly number[];
  readonly problem: string;
}

const NOTHING: Found = { points: [], problem: '' };

/**
 * The points that a text means, in the columns given: `#17` is a point, `/^se/` an expression, `digit: seven` asks one
 * column, anything else is looked for as it stands, whatever its case. A whole value means only itself where some point
 * has it: `cat` is not `category`.
 */
export function find(text: string, columns: readonly Column[], cloud: Lookup, total: number): Found {
  const asked = text.trim();
  if (asked === '') {
    return NOTHING;
  }
  if (/^#\d+$/.test(asked)) {
    return byNumber(Number(asked.slice(1)), cloud, total);
  }
  const { count } = cloud;
  const { word, among } = oneColumn(asked, columns.filter(isHere));
  const expression = /^\/(.+)\/([a-z]*)$/s.exec(word);
  if (!expression) {
    return plain(word.toLowerCase(), among, count);
  }
  try {
    // State would make every second test of a `g` fail; nobody means that.
    const wanted = new RegExp(expression[1]!, expression[2]!.replace(/[gy]/g, '') || 'i');
    return { points: matching(among, count, value => wanted.test(value)), problem: '' };
  } catch (error) {
    return { points: [], problem: error instanceof Error ? error.message : String(error) };
  }
}

function byNumber(number: number, cloud: Lookup, total: number): Found {
  const point = pointOf(cloud, number);
  if (point >= 0) {
    return { points: [point], problem: '' };
  }
  const problem =
    number < total
      ? `point ${number} is not drawn by itself: zoom to where it lies`
      : `there is no point ${number}; the points are 0 to ${total - 1}`;
  return { points: [], problem };
}

/** `digit: seven` asks the column digit, where there is one; columns are searched all together otherwise. */
function oneColumn(
  asked: string,
  columns: readonly Column[]
): { readonly word: string; readonly among: readonly Column[] } {
  const named = columns
    .filter(column => asked.toLowerCase().startsWith(`${column.name.toLowerCase()}:`))
    .sort((a, b) => b.name.length - a.name.length)[0];
  return named
    ? { word: asked.slice(named.name.length + 1).trim(), among: [named] }
    : { word: asked, among: columns };
}

function plain(word: string, columns: readonly Column[], count: number): Found {
  if (word === '') {
    return NOTHING;
  }
  const exactly = matching(columns, count, value => value.toLowerCase() === word);
  const points =
    exactly.length > 0 ? exactly : matching(columns, count, value => value.toLowerCase().includes(word));
  return { points, problem: '' };
}

/** The points of which some column says what passes. */
function matching(columns: readonly Column[], count: number, test: (value: string) => boolean): number[] {
  const hit = new Uint8Array(count);
  for (const column of columns) {
    if (column.kind === 'category') {
      // Each value is asked once, however many points have it.
      const passes = column.values.map(test);
      column.codes.forEach((code, point) => {
        hit[point]! |= passes[code] ? 1 : 0;
      });
    } else {
      for (let point = 0; point < count; point++) {
        if (!hit[point]) {
          const value = textOf(column, point);
          hit[point] = value !== '' && test(value) ? 1 : 0;
        }
      }
    }
  }
  const found: number[] = [];
  hit.forEach((one, point) => {
    if (one) {
      found.push(point);
    }
  });
  return found;
}
