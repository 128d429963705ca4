import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { ScatterState } from '../src/protocol';
import { between, project, projection, startCamera, zoomAt } from '../src/scatter/camera';
import { Choice } from '../src/scatter/choice';
import { PLAIN_ARRANGEMENT } from '../src/scatter/arrangement';
import { moved, numberOf, numbersOf, placesOf, pointOf, readCloud } from '../src/scatter/cloud';
import { categoryColour, rgb } from '../src/common/colours';
import { readColumn, type Column } from '../src/scatter/columns';
import { coloursBy } from '../src/scatter/paint';
import { BRIGHT, HIDDEN, Styles, USUAL } from '../src/scatter/emphasis';
import { shownBy } from '../src/scatter/filters';
import { find } from '../src/scatter/finding';
import { inside, join, pick, pickBox, pickLasso } from '../src/scatter/picking';
import { Pixels } from '../src/scatter/pixels';
import { categoryShape, inset, SHAPES } from '../src/scatter/shapes';
import { layersOf } from '../src/scatter/webgl';
import { localised, pointsInWords, visibleBounds, wantedBounds } from '../src/scatter/window';
import { claim, labelsOf, placeLabels, type Label, type OverlayState } from '../src/scatter/overlay';
import { normalise, unpack } from '../src/scatter/places';
import type { Shot } from '../src/scatter/renderer';

type Point = [number, number, number];

const PLAIN = [25, 118, 210] as const;

function category(codes: readonly number[], count: number): Column {
  const values = Array.from({ length: count }, (_, at) => `value ${at}`);
  return { kind: 'category', name: '', note: '', codes: Uint16Array.from(codes), values, sizes: [] };
}

describe('packed positions', () => {
  it('are read to the bit', () => {
    const [x, y, z] = [0x155555n, 0x0aaaabn, 0x1ffffen];
    const points = new BigUint64Array([0n, x | (y << 21n) | (z << 42n), (1n << 63n) | 5n]);
    const high = [2 ** 21 - 1, 2 ** 21 - 1, 2 ** 21 - 1];
    const read = unpack(new Uint32Array(points.buffer), 3, [0, 0, 0], high);
    const middle = high[0]! / 2;
    const back = [...read.positions].map((value, at) => value * read.reach + read.middle[at % 3]!);
    expect(read.reach).toBe(middle);
    expect(back.slice(0, 3)).toEqual([0, 0, 0]);
    [x, y, z].forEach((value, axis) => expect(back[3 + axis]).toBeCloseTo(Number(value), 0));
    expect(back.slice(6).every(Number.isNaN)).toBe(true);
    expect(read.lost).toBe(1);
  });

  it('of points that are all equal stand in the middle', () => {
    expect([...unpack(new Uint32Array(4), 2, [7, 7, 7], [7, 7, 7]).positions]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('without their bounds are refused', () => {
    const state = { kind: 'scatter', count: 1, dims: 2, positions_coding: 'packed', low: [0], high: [1] };
    expect(() => readCloud(state as unknown as ScatterState, [])).toThrow('packed positions have 3 dims');
  });
});

describe('the cloud', () => {
  const buffer = (array: Float32Array | Uint16Array) => new DataView(array.buffer);
  const positions = Float32Array.of(0, 0, 0, 10, 0, 0, 0, 5, 0, Number.NaN, 0, 0);
  const state = {
    kind: 'scatter',
    count: 4,
    dims: 3,
    positions_buffer: 0,
    positions_coding: 'float32',
    low: [0, 0, 0],
    high: [10, 5, 0],
    categories: ['seven', 'seventeen'],
    category_buffer: 1,
    sprite: null
  } as unknown as ScatterState;
  const labels = buffer(Uint16Array.of(0, 0, 1, 1));
  const cloud = readCloud(state, [buffer(positions), labels]);
  const stylesOf = (shown: Uint8Array | null): Styles => {
    const styles = new Styles(cloud.count);
    styles.paint(null, PLAIN);
    styles.hide(cloud.positions, shown);
    return styles;
  };

  it('is centred and scaled alike along all axes; what has no place is counted', () => {
    expect(cloud.lost).toBe(1);
    expect([...cloud.positions.slice(0, 6)]).toEqual([-1, -0.5, 0, 1, -0.5, 0]);
    expect(normalise(Float32Array.of(3, 3), 1, 2).positions.slice(0, 2)).toEqual(Float32Array.of(0, 0));
  });

  it('refuses counts and dims that cannot be', () => {
    expect(() => readCloud({ ...state, count: 1e9 }, [])).toThrow('more than a view can show');
    expect(() => readCloud({ ...state, dims: 4 }, [])).toThrow('2 or 3 can be drawn');
    expect(() => readCloud({ ...state, count: 5 }, [buffer(positions)])).toThrow(
      '15 values were promised and 12 arrived'
    );
  });

  it('hides, and lets points stand out', () => {
    const styles = stylesOf(Uint8Array.of(1, 1, 0, 1));
    const modes = (): number[] => [0, 1, 2, 3].map(point => styles.mode(point));
    expect([modes(), styles.dimmed]).toEqual([[USUAL, USUAL, HIDDEN, HIDDEN], false]);
    styles.takeStale();
    styles.raise([0, 2]);
    expect([modes(), styles.dimmed]).toEqual([[BRIGHT, USUAL, HIDDEN, HIDDEN], true]);
    expect(styles.takeStale()).toEqual({ from: 0, to: 1 });
    styles.raise([1]);
    expect(styles.takeStale()).toEqual({ from: 0, to: 2 });
    styles.hide(cloud.positions, Uint8Array.of(1, 0, 1, 1));
    expect([modes(), styles.dimmed]).toEqual([[USUAL, HIDDEN, USUAL, HIDDEN], true]);
    styles.hide(cloud.positions, null);
    expect(modes()).toEqual([USUAL, BRIGHT, USUAL, HIDDEN]);
    styles.raise([]);
    expect([modes(), styles.dimmed]).toEqual([[USUAL, USUAL, USUAL, HIDDEN], false]);
  });

  it('keeps emphasis while its colours change', () => {
    const styles = stylesOf(null);
    styles.raise([1]);
    styles.paint(coloursBy(category([0, 9, 1, 400], 10), false), PLAIN);
    expect([...styles.bytes.slice(4, 7)]).toEqual(rgb(categoryColour(9)));
    expect([styles.shape(1), styles.mode(1), styles.shape(2), styles.mode(3)]).toEqual([
      1,
      BRIGHT,
      0,
      HIDDEN
    ]);
    styles.paint(null, PLAIN);
    expect([...styles.bytes.slice(4, 7), styles.shape(1)]).toEqual([...PLAIN, 0]);
  });

  it('is picked where it is drawn, from any side', () => {
    const styles = stylesOf(null);
    for (const yaw of [0, 0.4, 2]) {
      const camera = { ...startCamera(3), yaw };
      const p = projection(camera, 640, 480);
      for (const point of [0, 1, 2]) {
        const [x, y] = project(
          p,
          cloud.positions[point * 3]!,
          cloud.positions[point * 3 + 1]!,
          cloud.positions[point * 3 + 2]!
        );
        expect(pick(cloud, styles, p, x + 1, y, 6)).toBe(point);
      }
      expect(pick(cloud, styles, p, -500, -500, 6)).toBeNull();
      expect(pickBox(cloud, styles, p, { left: 0, top: 0, right: 640, bottom: 480 })).toEqual([0, 1, 2]);
    }
  });

  it('is picked within reach where it lies at the back', () => {
    const styles = stylesOf(null);
    const p = projection({ ...startCamera(3), yaw: Math.PI / 2, pitch: 0 }, 640, 480);
    const place = (point: number) =>
      project(p, ...([0, 1, 2].map(at => cloud.positions[point * 3 + at]!) as Point));
    const back = place(0)[2] < place(1)[2] ? 0 : 1;
    expect(place(back)[2]).toBeLessThan(-0.5);
    const away = place(back)[0] - place(1 - back)[0] < 0 ? -5.9 : 5.9;
    expect(pick(cloud, styles, p, place(back)[0] + away, place(back)[1], 6)).toBe(back);
  });

  it('takes no selected points that are not drawn, even where Python refuses others', () => {
    const choice = new Choice();
    const given = { ...state, selected: [1, 9] };
    choice.follow(given);
    expect(choice.points).toEqual([1]);
    choice.take([2], cloud.count);
    choice.giveIn(given);
    expect(choice.points).toEqual([1]);
  });

  it('stays under the pointer while zooming', () => {
    const camera = startCamera(2);
    const before = project(projection(camera, 640, 480), 0.3, 0.2, 0);
    const after = project(
      projection(zoomAt(camera, 2, before[0], before[1], 640, 480), 640, 480),
      0.3,
      0.2,
      0
    );
    expect(after[0]).toBeCloseTo(before[0]);
    expect(after[1]).toBeCloseTo(before[1]);
  });

  it('is flat at one end of the turn and round at the other', () => {
    const round = startCamera(3);
    const flat = between(round, { ...round, flat: 1 }, 1);
    const [x, y, depth] = project(projection(flat, 400, 400), 0.5, 0.25, 0.9);
    expect([x, y, depth]).toEqual([200 + 0.5 * 172, 200 - 0.25 * 172, 0]);
    expect(between(round, flat, 0)).toEqual(round);
  });

  it('has labels that never overlap', () => {
    const taken: { left: number; top: number; right: number; bottom: number }[] = [];
    expect(claim(taken, { left: 0, top: 0, right: 10, bottom: 10 })).toBe(true);
    expect(claim(taken, { left: 5, top: 5, right: 15, bottom: 15 })).toBe(false);
    expect(claim(taken, { left: 11, top: 0, right: 20, bottom: 10 })).toBe(true);
  });
});

/** A cloud made by rule, and all its points shown. */
function crowd(count: number): { drawn: Drawn; styles: Styles } {
  let seed = 7;
  const next = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const positions = Float32Array.from({ length: count * 3 }, () => next() * 2 - 1);
  const styles = new Styles(count);
  styles.paint(null, PLAIN);
  return { drawn: { count, positions, weights: null }, styles };
}

type Drawn = { count: number; positions: Float32Array; weights: Uint32Array | null };

describe('picking', () => {
  const { drawn, styles } = crowd(3000);
  const p = projection(startCamera(3), 640, 480);
  const spots = Array.from({ length: drawn.count }, (_, point) =>
    project(p, ...([0, 1, 2].map(axis => drawn.positions[point * 3 + axis]!) as Point))
  );

  it('finds what a look at every point finds', () => {
    for (let at = 0; at < 40; at++) {
      const [x, y] = [(at * 97) % 640, (at * 61) % 480];
      const rank = ([px, py, depth]: readonly number[]): number =>
        Math.hypot(px! - x, py! - y) - depth! * 1.5;
      const near = spots.flatMap((spot, point) => (Math.hypot(spot[0] - x, spot[1] - y) <= 9 ? [point] : []));
      const best = near.sort((a, b) => rank(spots[a]!) - rank(spots[b]!))[0] ?? null;
      expect(pick(drawn, styles, p, x, y, 9)).toBe(best);
    }
  });

  it('catches in a lasso what lies in it: here a star, whose middle is crossed twice', () => {
    const star = [0, 2, 4, 1, 3].flatMap(at => [
      320 + 180 * Math.sin((at * 2 * Math.PI) / 5),
      240 - 180 * Math.cos((at * 2 * Math.PI) / 5)
    ]);
    const caught = new Set(pickLasso(drawn, styles, p, star));
    expect(inside(star, 320, 240)).toBe(false);
    expect(inside(star, 320, 240 - 140)).toBe(true);
    expect(caught.size).toBeGreaterThan(20);
    spots.forEach(([x, y], point) => expect(caught.has(point)).toBe(inside(star, x, y)));
    expect(pickLasso(drawn, styles, p, [1, 1, 2, 2])).toEqual([]);
    const box = { left: 100, top: 100, right: 200, bottom: 300 };
    expect(pickLasso(drawn, styles, p, [100, 100, 200, 100, 200, 300, 100, 300])).toEqual(
      pickBox(drawn, styles, p, box)
    );
  });

  it('adds and subtracts in the order of the hand', () => {
    expect(join([3, 1], [1, 2], 'replace')).toEqual([1, 2]);
    expect(join([3, 1], [1, 2], 'add')).toEqual([3, 1, 2]);
    expect(join([3, 1], [1, 2], 'subtract')).toEqual([3]);
  });

  it('leaves out what is hidden', () => {
    const all = { left: -1e4, top: -1e4, right: 1e4, bottom: 1e4 };
    const some = crowd(50);
    some.styles.hide(some.drawn.positions, new Uint8Array(50));
    expect(pickBox(some.drawn, some.styles, p, all)).toEqual([]);
  });
});

describe('very many points', () => {
  // jsdom has none.
  beforeAll(() => {
    vi.stubGlobal(
      'ImageData',
      class {
        readonly data: Uint8ClampedArray;
        constructor(
          readonly width: number,
          readonly height: number
        ) {
          this.data = new Uint8ClampedArray(width * height * 4);
        }
      }
    );
    return () => vi.unstubAllGlobals();
  });

  const shot = (more = {}): Shot => ({
    projection: projection({ ...startCamera(2) }, 100, 80),
    ...{
      width: 100,
      height: 80,
      ratio: 1,
      radius: 1,
      pictures: false,
      fog: 0,
      paper: [255, 255, 255] as const
    },
    ...more
  });

  it('are all counted, each in its pixel', () => {
    const { drawn, styles } = crowd(500);
    const pixels = new Pixels();
    expect(pixels.place(drawn, styles, shot(), 1)).toBe(500);
    expect(pixels.place({ ...drawn, weights: new Uint32Array(500).fill(3) }, styles, shot(), 1)).toBe(1500);
    const zoomed = shot({ projection: projection({ ...startCamera(2), zoom: 4 }, 100, 80) });
    const box = { left: 0, top: 0, right: 99.999, bottom: 79.999 };
    expect(pixels.place(drawn, styles, zoomed, 1)).toBe(
      pickBox(drawn, styles, zoomed.projection, box).length
    );
  });

  it('are the stronger the denser they lie, and a single one is seen', () => {
    const positions = new Float32Array(101 * 3);
    positions[300] = 0.5;
    const styles = new Styles(101);
    const pixels = new Pixels();
    const drawn = { count: 101, positions, weights: null };
    pixels.place(drawn, styles, shot(), 1);
    const { data } = pixels.density(drawn, styles, shot());
    const filled = Array.from(data).flatMap((value, at) => (at % 4 === 3 && value > 0 ? [value] : []));
    expect(filled).toHaveLength(2);
    expect(Math.max(...filled)).toBeGreaterThan(240);
    expect(Math.min(...filled)).toBeGreaterThan(70);
    expect(Math.min(...filled)).toBeLessThan(130);
  });

  it('hide each other as dots: the nearest is in front', () => {
    const styles = new Styles(2);
    styles.paint(Uint8Array.of(200, 0, 0, 0, 0, 200, 0, 0), PLAIN);
    const camera = { ...startCamera(3), yaw: 0, pitch: 0 };
    const look = shot({ projection: projection(camera, 100, 80) });
    const colour = (near: number): number[] => {
      const drawn = { count: 2, positions: Float32Array.of(0, 0, near, 0, 0, -near), weights: null };
      const pixels = new Pixels();
      pixels.place(drawn, styles, look, 1);
      return [
        ...pixels.dots(drawn, styles, look, 1).data.slice((40 * 100 + 50) * 4, (40 * 100 + 50) * 4 + 4)
      ];
    };
    expect(colour(0.5)).toEqual([200, 0, 0, 255]);
    expect(colour(-0.5)).toEqual([0, 200, 0, 255]);
  });
});

describe('colours of points', () => {
  it('follow a number, its ends and its absence', () => {
    const numbers = Float32Array.of(0, 10, Number.NaN);
    const column: Column = { kind: 'number', name: '', note: '', numbers, low: 0, high: 10, missing: 1 };
    const paint = coloursBy(column, false)!;
    expect([...paint.slice(0, 4)]).toEqual([68, 1, 84, 0]);
    expect([...paint.slice(4, 7)]).toEqual([253, 231, 37]);
    expect([...paint.slice(8, 11)]).toEqual([0xa9, 0xae, 0xb5]);
    // A state that brings the same column again costs nothing.
    expect(coloursBy(column, false)).toBe(paint);
    expect(coloursBy(column, true)).not.toBe(paint);
  });

  it('come again in another shape after eight', () => {
    expect([0, 7, 8, 47, 48].map(categoryShape)).toEqual([0, 0, 1, 5, 0]);
    SHAPES.forEach((_, shape) => {
      expect(inset(shape, 0, shape === 5 ? 0.75 : 0)).toBeGreaterThan(0.2);
      expect(inset(shape, 1.1, 1.1)).toBeLessThan(0);
    });
    expect(inset(5, 0, 0)).toBeLessThan(0);
  });
});

describe('names over the cloud', () => {
  const wide = (words: string): number => words.length * 7;
  const label = (x: number, y: number, away = 5): Label => ({
    words: 'a name',
    ...{ x, y, away, colour: null, loud: false }
  });

  it('never overlap, never leave the picture, and come in their order', () => {
    const labels = Array.from({ length: 300 }, (_, at) => label((at * 53) % 400, (at * 37) % 300));
    const placed = placeLabels(labels, wide, { width: 400, height: 300 }, 60);
    expect(placed.length).toBeGreaterThan(20);
    expect([placed[0]!.x, placed[0]!.y]).toEqual([labels.find(one => one.x >= 30)!.x, expect.any(Number)]);
    placed.forEach(({ rect: a }, at) => {
      expect(a.left >= 0 && a.top >= 0 && a.right <= 400 && a.bottom <= 300).toBe(true);
      placed.slice(0, at).forEach(({ rect: b }) => {
        expect(a.right < b.left || a.left > b.right || a.bottom < b.top || a.top > b.bottom).toBe(true);
      });
    });
  });

  it('go to another side of their point where one is taken', () => {
    const placed = placeLabels([label(100, 100), label(100, 100)], wide, { width: 200, height: 200 }, 9);
    expect(placed.map(one => one.rect.bottom < 100)).toEqual([true, false]);
  });
});

describe('names of points', () => {
  const asked = (count: number, selected: number[] = [], shown: Uint8Array | null = null): string[] =>
    labels(count, selected, shown, null).map(label => label.words);
  const labels = (
    count: number,
    selected: number[],
    shown: Uint8Array | null,
    sizes: number[] | null
  ): Label[] => {
    const positions = Float32Array.from({ length: count * 3 }, (_, at) =>
      at % 3 === 2 ? 0 : at / count / 6
    );
    const categories = sizes && new Uint16Array(count);
    const names = sizes?.map((_, at) => `kind ${at}`);
    const cloud = { count, positions, categories, sizes, names, middles: positions };
    const styles = new Styles(count);
    styles.paint(null, PLAIN);
    styles.hide(positions, shown);
    const state = {
      ...{ cloud, positions, styles, radius: 3, selected, near: [], found: [], hidden: new Set() },
      ...{ projection: projection(startCamera(2), 400, 300), nameOf: (point: number) => `name ${point}` },
      colours: sizes?.map(() => '#123456')
    } as unknown as OverlayState;
    return [...labelsOf(state)];
  };

  it('are asked for by each of few, and by none of many', () => {
    expect(asked(3)).toEqual(['name 0', 'name 1', 'name 2']);
    expect(asked(2000)).toEqual([]);
  });

  it('are asked for by each of few whose categories are all others', () => {
    expect(labels(3, [], null, [1, 1, 1]).map(label => label.words)).toEqual(['name 0', 'name 1', 'name 2']);
  });

  it('stand beside the only point of a category, and upon the middle of several', () => {
    const [several, one] = labels(3, [], null, [2, 1]);
    expect([several!.words, several!.away, several!.colour]).toEqual(['kind 0', 0, '#123456']);
    expect([one!.words, one!.colour]).toEqual(['kind 1', null]);
    expect(one!.away).toBeGreaterThan(4);
  });

  it('are those of the selection where there is one, and not of what is hidden', () => {
    expect(asked(3, [1])).toEqual(['name 1']);
    expect(asked(3, [], Uint8Array.of(1, 0, 1))).toEqual(['name 0', 'name 2']);
  });
});

describe('a part of a very large cloud', () => {
  const window = {
    ...{ low: [0, 0], high: [100, 50], whole_low: [0, 0], whole_high: [100, 50], inside: 5e6 },
    ...{ weights_buffer: 1, cell: [1, 0.5], numbers_buffer: null }
  };
  const state = {
    ...{ kind: 'scatter', count: 2, total: 5e6, dims: 2, positions_buffer: 0, positions_coding: 'float32' },
    ...{ low: [0, 0], high: [100, 50], categories: [], category_buffer: null, sprite: null, window },
    ...{ selected: [7, 40], neighbours: [{ index: 40, distance: 1 }] }
  } as unknown as ScatterState;
  const view = (array: Float32Array | Uint32Array): DataView => new DataView(array.buffer);
  const buffers = [view(Float32Array.of(50, 25, 100, 25)), view(Uint32Array.of(1000, 4_999_000))];
  const cloud = readCloud(state, buffers);

  it('lies where it does in the whole', () => {
    expect([...cloud.positions]).toEqual([0, 0, 0, 1, 0, 0]);
    expect([cloud.weights![1], cloud.cell]).toEqual([4_999_000, 0.02]);
    expect(pointsInWords(state)).toBe('5,000,000 points as density; zoom in to see points');
    expect(pointsInWords({ ...state, total: 3, window: null }, false, 1)).toBe('1 of 3 points');
  });

  it('is asked for where a closer look tells more, and the whole where all can be seen', () => {
    const camera = startCamera(2);
    const far = visibleBounds(state, cloud, projection(camera, 400, 400), 400, 400)!;
    expect(wantedBounds(state, far, true)).toBeNull();
    const near = visibleBounds(state, cloud, projection({ ...camera, zoom: 10 }, 400, 400), 400, 400)!;
    expect(near.low[0]).toBeCloseTo(50 - 50 / 8.6, 3);
    const wanted = wantedBounds(state, near, true)!;
    expect(wanted.low[0]!).toBeLessThan(near.low[0]!);
    expect(wanted.high[1]!).toBeGreaterThan(near.high[1]!);
    const part = { ...state, window: { ...window, ...wanted } };
    expect(wantedBounds(part, near, true)).toBeNull();
    expect(wantedBounds(part, far, true)).toEqual({ low: [], high: [] });
  });

  it('knows its points by their numbers', () => {
    const closer = {
      ...state,
      window: { ...window, weights_buffer: null, cell: [], numbers_buffer: 1 }
    } as ScatterState;
    const given = [buffers[0]!, view(Uint32Array.of(5, 40))];
    const near = readCloud(closer, given);
    expect([numberOf(near, 1), pointOf(near, 40), pointOf(near, 6), pointOf(near, 99)]).toEqual([
      40, 1, -1, -1
    ]);
    expect(localised(closer, given)).toMatchObject({
      selected: [1],
      neighbours: [{ index: 1, distance: 1 }]
    });
    expect(localised(state, buffers).selected).toEqual([]);
    // What is asked for and kept are numbers, too, for another part may be drawn by then.
    expect([numbersOf(near, [1, 0]), placesOf(near, [40, 6, 5])]).toEqual([
      [40, 5],
      [1, 0]
    ]);
    expect(find('#40', [], near, 5e6).points).toEqual([1]);
    expect(find('#41', [], near, 5e6).problem).toContain('point 41 is not drawn by itself');
    expect(find('#5000000', [], near, 5e6).problem).toContain('the points are 0 to 4999999');
    const isolated = { ...PLAIN_ARRANGEMENT, isolated: [40, 41] };
    expect([...shownBy(isolated, new Map(), near)!]).toEqual([0, 1]);
    expect(shownBy(isolated, new Map(), cloud)).toBeNull();
    expect(pointsInWords(closer)).toBe('2 of 5,000,000 points: all in this part');
  });

  it('counts in its legend points, and not what stands for them', () => {
    const told = {
      name: 'kind',
      kind: 'category',
      note: '',
      values: ['a', 'b'],
      buffer: 0,
      ends_buffer: null
    } as const;
    const codes = new DataView(Uint16Array.of(0, 1).buffer);
    expect(readColumn(told, [codes], 2, cloud.weights)).toMatchObject({ sizes: [1000, 4_999_000] });
    expect(readColumn(told, [codes], 2)).toMatchObject({ sizes: [1, 1] });
  });

  it('keeps all but the places of points that moved', () => {
    const next = moved(cloud, state, [view(Float32Array.of(0, 25, 100, 50))]);
    expect(next.weights).toBe(cloud.weights);
    expect([...next.positions]).toEqual([-1, 0, 0, 1, 0.5, 0]);
  });
});

describe('thumbnails', () => {
  it('are cut into layers that a graphics card takes', () => {
    expect(layersOf(100, 28, 28, 2048)).toEqual({ columns: 10, rows: 10, layers: 1 });
    const cut = layersOf(100_000, 28, 14, 2048)!;
    expect(cut.columns * 28).toBeLessThanOrEqual(2048);
    expect(cut.rows * 14).toBeLessThanOrEqual(2048);
    expect(cut.columns * cut.rows * cut.layers).toBeGreaterThanOrEqual(100_000);
    expect(layersOf(3, 4096, 8, 2048)).toBeNull();
  });
});
