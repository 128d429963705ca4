import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ScatterColumn, ScatterState } from '../src/protocol';
import {
  hiddenOf,
  History,
  PLAIN_ARRANGEMENT,
  toggled,
  withRange,
  withoutFilters
} from '../src/scatter/arrangement';
import type { ScatterBookmark } from '../src/protocol';
import { readBookmarks, writeBookmarks } from '../src/scatter/bookmarkfile';
import examples from './bookmarks.json';
import { categoryBars, numberBars } from '../src/scatter/counts';
import { readColumn, textOf, type Category, type Column, type Numeric } from '../src/scatter/columns';
import { countShown, shownBy } from '../src/scatter/filters';
import { find } from '../src/scatter/finding';
import { qualityInWords } from '../src/scatter/bar';
import { readCloud } from '../src/scatter/cloud';
import { Judging } from '../src/scatter/judging';
import { foundInWords } from '../src/scatter/near';
import { nearest, nearestIn, shownNumbers } from '../src/scatter/nearest';
import { coloursBy } from '../src/scatter/paint';
import { pointsTable, tableExports } from '../src/scatter/saved';
import type { Scene } from '../src/scatter/scene';
import { pointsInWords } from '../src/scatter/window';
import { Written } from '../src/scatter/written';

const view = (array: ArrayBufferView): DataView =>
  new DataView(array.buffer, array.byteOffset, array.byteLength);

function column(name: string, kind: ScatterColumn['kind'], more: Partial<ScatterColumn> = {}): ScatterColumn {
  return { name, kind, note: '', values: [], buffer: null, ends_buffer: null, ...more };
}

const texts = new TextEncoder().encode('katkäsedog');
const digit = readColumn(
  column('digit', 'category', { values: ['seven', 'seventeen', ''], buffer: 0 }),
  [view(Uint16Array.of(0, 1, 1, 65535))],
  4
) as Category;
const sure = readColumn(
  column('sure', 'number', { buffer: 0 }),
  [view(Float32Array.of(0.25, 1, Number.NaN, 0.5))],
  4
) as Numeric;
const word = readColumn(
  column('word', 'text', { buffer: 0, ends_buffer: 1 }),
  [view(texts), view(Uint32Array.of(3, 8, 8, 11))],
  4
);
const columns = new Map<string, Column>([digit, sure, word].map(one => [one.name, one]));
const all = [...columns.values()];
const four = { count: 4, weights: null, numbers: null };

describe('columns', () => {
  it('are read by points, whatever they hold', () => {
    expect([0, 1, 2, 3].map(point => textOf(word, point))).toEqual(['kat', 'käse', '', 'dog']);
    expect([0, 2, 3].map(point => textOf(digit, point))).toEqual(['seven', 'seventeen', '']);
    expect([0, 2].map(point => textOf(sure, point))).toEqual(['0.25', '']);
    expect([digit.sizes, sure.low, sure.high, sure.missing]).toEqual([[1, 2, 0], 0.25, 1, 1]);
  });

  it('that do not fit their buffers are refused', () => {
    const short = [view(texts.slice(0, 5)), view(Uint32Array.of(3, 8, 8, 11))];
    expect(() => readColumn(column('word', 'text', { buffer: 0, ends_buffer: 1 }), short, 4)).toThrow(
      'its texts end at byte 11 and 5 arrived'
    );
    expect(() =>
      readColumn(column('digit', 'category', { buffer: 0 }), [view(Uint16Array.of(1))], 4)
    ).toThrow('4 values were promised and 1 arrived');
  });

  it('of doubles keep every bit', () => {
    const wide = readColumn(column('id', 'number', { buffer: 0 }), [view(Float64Array.of(16777217))], 1);
    expect(textOf(wide, 0)).toBe('16777217');
  });
});

describe('a search', () => {
  const found = (text: string): readonly number[] => find(text, all, four, 4).points;

  it('finds words, expressions, one column, and points by their number', () => {
    expect(found('seven')).toEqual([0]); // the whole value, and not seventeen
    expect(found('TEEN')).toEqual([1, 2]);
    expect(found('/^k.*/')).toEqual([0, 1]);
    expect(found('/KÄSE/')).toEqual([1]);
    expect(found('word: e')).toEqual([1]);
    expect(found('digit:e')).toEqual([0, 1, 2]);
    expect(found('#2')).toEqual([2]);
    expect(found('0.5')).toEqual([3]);
    expect(found('  ')).toEqual([]);
  });

  it('says what is wrong with what was asked', () => {
    expect(find('/(/', all, four, 4).problem).toMatch(/regular expression/i);
    expect(find('#9', all, four, 4).problem).toBe('there is no point 9; the points are 0 to 3');
    expect(find('nothing', all, four, 4)).toEqual({ points: [], problem: '' });
  });
});

describe('filters', () => {
  it('hide values, and what lies in no range; a column that is gone hides nothing', () => {
    let now = toggled(PLAIN_ARRANGEMENT, 'digit', 'seven');
    expect([...shownBy(now, columns, four)!]).toEqual([0, 1, 1, 1]);
    now = withRange(now, 'sure', [0.3, 0.6]);
    expect([...shownBy(now, columns, four)!]).toEqual([0, 0, 0, 1]);
    expect([...shownBy(now, columns, four, 'sure')!]).toEqual([0, 1, 1, 1]);
    expect(countShown(shownBy({ ...now, isolated: [1, 3, 99] }, columns, four), 4)).toBe(1);
    expect(shownBy(withoutFilters(now), columns, four)).toBeNull();
    expect([...(shownBy(toggled(PLAIN_ARRANGEMENT, 'gone', 'x'), columns, four) ?? [1])]).toEqual([1]);
    expect(hiddenOf(toggled(now, 'digit', 'seven'), 'digit')).toEqual([]);
  });

  it('are counted in bars, the selected ones apart', () => {
    expect(categoryBars(digit, Uint8Array.of(1, 0, 1, 1), [0, 3])).toEqual([
      { all: 1, shown: 1, selected: 1 },
      { all: 2, shown: 1, selected: 0 },
      { all: 0, shown: 0, selected: 0 }
    ]);
    expect(numberBars(sure, null, [1, 2], 3).map(bar => [bar.all, bar.selected])).toEqual([
      [1, 0],
      [1, 0],
      [1, 1]
    ]);
  });

  it('leave colours by value alone; what has none is grey', () => {
    const colours = coloursBy(sure, false)!;
    expect([...colours.slice(0, 3)]).toEqual([68, 1, 84]);
    expect([...colours.slice(8, 11)]).toEqual([0xa9, 0xae, 0xb5]);
    expect(coloursBy(word, false)).toBeNull();
  });
});

describe('undo', () => {
  it('goes back and forth; a range that is dragged is one step', () => {
    const history = new History();
    history.take({ ...history.now, colour: 'digit' });
    for (const low of [0.1, 0.2, 0.3]) {
      history.take(withRange(history.now, 'sure', [low, 1]), 'range sure');
    }
    history.follow({ selected: [3] });
    expect(history.step(true)).toBe(true);
    expect([history.now.colour, history.now.ranges]).toEqual(['digit', []]);
    expect(history.step(true)).toBe(true);
    expect(history.step(true)).toBe(false);
    expect(history.step(false)).toBe(true);
    expect(history.now.colour).toBe('digit');
    history.take({ ...history.now, colour: '' });
    expect(history.canRedo).toBe(false);
  });
});

describe('bookmarks', () => {
  const arrangement = {
    ...toggled(withRange(PLAIN_ARRANGEMENT, 'sure', [0.2, 0.5]), 'digit', 'seven'),
    projection: 'pca',
    camera: [0.3, -0.2, 2, 0.1, 0, 0],
    label: 'digit',
    colour: 'sure',
    isolated: [1, 2],
    selected: [2]
  };

  it('come back as they were kept', () => {
    const text = writeBookmarks([{ name: 'mine', arrangement }], [4, 3]);
    expect(readBookmarks(text)).toEqual([{ name: 'mine', arrangement }]);
  });

  it('are written as Python writes them', () => {
    const size: readonly [number, number] = [examples.size[0]!, examples.size[1]!];
    const kept = examples.bookmarks as unknown as ScatterBookmark[];
    const states = JSON.parse(writeBookmarks(kept, size)) as Record<string, unknown>[];
    states.forEach((state, at) => {
      const { cameraDef: camera, ...rest } = examples.states[at]!;
      expect(state).toMatchObject(rest);
      const { position } = state['cameraDef'] as typeof camera;
      (['x', 'y', 'z'] as const).forEach(axis => {
        expect(position[axis]).toBeCloseTo(camera.position[axis]);
      });
    });
    expect(readBookmarks(JSON.stringify(examples.states))).toEqual(kept);
  });

  it('are understood from TensorBoard as far as it tells', () => {
    const [mine] = JSON.parse(writeBookmarks([{ name: 'mine', arrangement }], [4, 3])) as Record<
      string,
      unknown
    >[];
    delete mine!['workbench'];
    const [read] = readBookmarks(JSON.stringify([mine]));
    expect(read).toMatchObject({
      name: 'mine',
      arrangement: { projection: 'pca', label: 'digit', colour: 'sure', selected: [2], isolated: [1, 2] }
    });
    [0.3, -0.2, 2].forEach((value, at) => expect(read!.arrangement.camera[at]).toBeCloseTo(value));
  });

  it('that are none are refused with words', () => {
    expect(() => readBookmarks('{')).toThrow('this is no JSON');
    expect(() => readBookmarks('{"a": 1}')).toThrow('bookmarks are a list');
    const hostile = [{ label: 7, selectedPoints: ['x', -1, 2], workbench: { camera: ['a'], k: 1e9 } }];
    expect(readBookmarks(JSON.stringify(hostile))[0]).toEqual({
      name: 'State 0',
      arrangement: PLAIN_ARRANGEMENT
    });
  });
});

describe('neighbours in a page that stands alone', () => {
  it('are those that Python finds', () => {
    const vectors = Float32Array.of(0, 1, 0, 5, 1, 1, 0, 0);
    expect(nearest(vectors, 2, 0, 2, 'euclidean')).toEqual([
      { index: 2, distance: 1 },
      { index: 3, distance: 1 }
    ]);
    expect(nearest(vectors, 2, 0, 9, 'cosine').map(one => one.index)).toEqual([1, 2]);
    expect(nearest(vectors, 2, 3, 9, 'cosine')).toEqual([]);
  });

  it('are of the points that it draws, by their own numbers, and of no others', () => {
    const vectors = Float32Array.of(0, 1, 0, 5, 1, 1, 0, 0);
    const state = { count: 4, window: { numbers_buffer: 0 } } as unknown as ScatterState;
    const numbers = shownNumbers(state, [view(Uint32Array.of(7, 20, 900, 1_100_000))])!;
    expect(nearestIn(vectors, 2, numbers, 7, 2, 'euclidean')).toEqual([
      { index: 900, distance: 1 },
      { index: 1_100_000, distance: 1 }
    ]);
    for (const point of [0, 8, 1_200_000]) {
      expect(nearestIn(vectors, 2, numbers, point, 9, 'euclidean')).toEqual([]);
    }
    expect([nearest(vectors, 2, 4, 9, 'euclidean'), nearest(vectors, 2, -1, 9, 'euclidean')]).toEqual([
      [],
      []
    ]);
    expect(shownNumbers({ window: null } as ScatterState, [])).toBeNull();
    expect(nearestIn(vectors, 2, null, 0, 1, 'euclidean')).toEqual([{ index: 2, distance: 1 }]);
  });

  it('are said to be of what they are', () => {
    const window = { weights_buffer: null, inside: 4 };
    const part = { count: 4, total: 1_200_000, k: 12, window } as unknown as ScatterState;
    const whole = { ...part, total: 4, window: null };
    expect(foundInWords({ state: part, alone: true }, 3)).toBe(
      'exact, of the 4 points of this page, before projection'
    );
    expect(foundInWords({ state: part, alone: false }, 3)).toBe(
      'exact, of all 1,200,000 points, before projection; 9 of them outside of what is drawn'
    );
    expect(foundInWords({ state: whole, alone: true }, 3)).toBe('exact, of all 4 points, before projection');
    expect(foundInWords({ state: part, alone: true }, 0)).toBe('');
    const cells = { ...part, window: { weights_buffer: 1, inside: 1_200_000 } } as unknown as ScatterState;
    expect(pointsInWords(cells, true)).toBe('1,200,000 points as density');
  });
});

describe('a table of points', () => {
  const tableOf = (state: Partial<ScatterState>, buffers: DataView[], more: Column[] = []): string[] => {
    const given = {
      count: 2,
      dims: 3,
      positions_buffer: 0,
      sprite: null,
      window: null,
      ...state
    } as ScatterState;
    const scene = {
      state: given,
      cloud: readCloud(given, buffers),
      columns: new Map(more.map(one => [one.name, one]))
    };
    return pointsTable(scene as unknown as Scene)
      .trim()
      .split('\n');
  };

  it('has every bit that has travelled, and numbers below 0 as numbers', () => {
    const places = Float32Array.of(1 / 3, -1e-30, 16777217, -0.1, 7, Number.NaN);
    const size = readColumn(
      column('size', 'number', { buffer: 1 }),
      [view(places), view(Float64Array.of(-2.5, NaN))],
      2
    );
    const lines = tableOf({ positions_coding: 'float32' }, [view(places)], [size]);
    expect(lines[0]).toBe('index,x,y,z,size');
    const read = lines.slice(1).flatMap(line => line.split(',').slice(1, 4).map(Number));
    expect(Float32Array.from(read)).toEqual(places);
    expect(lines.map(line => line.split(',')[4])).toEqual(['size', '-2.5', '']);
  });

  it('says how far a coordinate may be off that travelled in steps', () => {
    const words = new BigUint64Array([1234567n, 0n]);
    const packed = { positions_coding: 'packed' as const, low: [0, -1, 0], high: [1000, 1, 0] };
    const [head, first] = tableOf(packed, [view(words)]);
    const off = /^index,x ± (\S+),y ± (\S+),z ± (\S+)$/.exec(head!)!.slice(1).map(Number);
    const value = (1000 * 1234567) / (2 ** 21 - 1);
    expect(Math.abs(Number(first!.split(',')[1]) - value)).toBeLessThanOrEqual(off[0]! - 500 / (2 ** 21 - 1));
    expect(off[0]).toBeLessThan(5e-4);
    expect(off[1]).toBeLessThan(off[0]!);
  });
});

describe('the table of the menu', () => {
  const scene = (exact: Float32Array | null, window: object | null): Scene =>
    ({ state: { window }, cloud: { exact } }) as unknown as Scene;
  const places = Float32Array.of(1, 2, 3);
  const write = vi.fn();

  it('is made of the page where all of it has travelled', () => {
    expect(Object.keys(tableExports(scene(places, null), write))).toEqual(['csv']);
    expect(Object.keys(tableExports(scene(places, null), null))).toEqual(['csv']);
  });

  it('is written by Python where the page has not all of it', () => {
    for (const some of [scene(null, null), scene(places, {}), scene(null, {})]) {
      const given = tableExports(some, write);
      expect(given.csvNote).toBe('all points, exact, beside the notebook');
      expect(given.writeCsv).toBe(write);
    }
  });

  it('says what is missing where there is no Python', () => {
    const notes = [scene(null, null), scene(places, {}), scene(null, {})].map(some => {
      const given = tableExports(some, null);
      expect(given.writeCsv).toBeUndefined();
      return given.csvNote;
    });
    const rounded = 'positions rounded to 21 bits';
    expect(notes).toEqual([rounded, 'only what is drawn', `only what is drawn, ${rounded}`]);
  });

  it('is said to be written where the menu asked for it, and only then', async () => {
    const answer = vi.fn<() => Promise<{ accepted: boolean; reason: string }>>();
    answer.mockResolvedValue({ accepted: true, reason: '' });
    const written = new Written(answer);
    const says = (): string | null => (written.element.hidden ? null : written.element.textContent);
    written.update('page.html');
    expect(says()).toBeNull();
    await written.ask();
    written.update('page.html');
    expect(says()).toBeNull();
    written.update('points.csv');
    expect(says()).toContain('Written to points.csv');
    written.update('points-2.csv');
    expect(says()).toContain('Written to points.csv');
    answer.mockResolvedValue({ accepted: false, reason: 'no room' });
    await written.ask();
    written.update('another.html');
    expect(says()).toBeNull();
  });
});

describe('how far a picture can be trusted', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const drawn = (updated: number, judges = true): Pick<ScatterState, 'judges' | 'projection' | 'head'> => ({
    judges,
    projection: 'UMAP 2-D',
    head: { title: '', source: '', updated, live: false, code: '' }
  });

  it('is asked once for each picture, when it has stood for a second', () => {
    const ask = vi.fn();
    const judging = new Judging(ask);
    judging.update(drawn(1));
    vi.advanceTimersByTime(900);
    judging.update(drawn(2)); // another picture begins anew
    vi.advanceTimersByTime(900);
    judging.update(drawn(2)); // the same one with another selection goes on
    expect(ask).not.toHaveBeenCalled();
    vi.advanceTimersByTime(200);
    expect(ask.mock.calls).toEqual([['UMAP 2-D']]);
    judging.update(drawn(2));
    vi.advanceTimersByTime(9000);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it('is not asked while a method runs, where it is known, or when the view is gone', () => {
    const ask = vi.fn();
    const judging = new Judging(ask);
    judging.update(drawn(1));
    judging.update(drawn(2, false));
    vi.advanceTimersByTime(9000);
    judging.update(drawn(3));
    judging.destroy();
    vi.advanceTimersByTime(9000);
    expect(ask).not.toHaveBeenCalled();
  });

  it('is told with how many points were judged, where it was not all', () => {
    const told = { trustworthiness: 0.9, continuity: 0.8, k: 10, judged: 2000, points: 400_000 };
    expect(qualityInWords(told)).toBe(
      'trustworthiness 0.900, continuity 0.800 (k = 10, of 2,000 of 400,000 points judged)'
    );
    const later = { ...told, trustworthiness: null, continuity: null, points: 2000 };
    expect(qualityInWords(later)).toMatch(/^trustworthiness …\s+, continuity …\s+ \(k = 10\)$/);
    expect(qualityInWords({ ...told, points: 2000 })).toBe(
      'trustworthiness 0.900, continuity 0.800 (k = 10)'
    );
  });
});
