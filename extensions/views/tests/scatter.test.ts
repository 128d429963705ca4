import { describe, expect, it } from 'vitest';
import type { ScatterState } from '../src/protocol';
import { between, project, projection, startCamera, zoomAt } from '../src/scatter/camera';
import { Choice } from '../src/scatter/choice';
import { BRIGHT, DIM, HIDDEN, pick, pickBox, readCloud, stylePoints } from '../src/scatter/cloud';
import { claim } from '../src/scatter/overlay';
import { normalise, unpack } from '../src/scatter/places';

type Point = [number, number, number];

const USUAL = { shown: null, bright: new Set<number>(), colours: null };

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
  const buffer = (array: Float32Array) => new DataView(array.buffer);
  const positions = Float32Array.of(0, 0, 0, 10, 0, 0, 0, 5, 0, Number.NaN, 0, 0);
  const state = {
    kind: 'scatter',
    count: 4,
    dims: 3,
    positions_buffer: 0,
    positions_coding: 'float32',
    low: [0, 0, 0],
    high: [10, 5, 0],
    sprite: null
  } as unknown as ScatterState;
  const cloud = readCloud(state, [buffer(positions)]);

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

  it('hides, dims and brightens', () => {
    const shown = (hidden: number[], bright: number[]) =>
      [
        ...stylePoints(
          cloud,
          { ...USUAL, shown: Uint8Array.from(hidden), bright: new Set(bright) },
          '#1976d2'
        )
      ].filter((_, index) => index % 4 === 3);
    expect(shown([1, 1, 0, 1], [0])).toEqual([BRIGHT, DIM, HIDDEN, HIDDEN]);
  });

  it('is picked where it is drawn, from any side', () => {
    const styles = stylePoints(cloud, USUAL, '#1976d2');
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
    const styles = stylePoints(cloud, USUAL, '#1976d2');
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
