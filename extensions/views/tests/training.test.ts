import { describe, expect, it } from 'vitest';
import { StateError } from '../src/common/buffers';
import { s } from '../src/common/dom';
import { duration } from '../src/common/numbers';
import { Scale } from '../src/common/scales';
import { textWidth } from '../src/common/text';
import type { Theme } from '../src/common/theme';
import type { TrainingCounters, TrainingCurve, TrainingStrip } from '../src/protocol';
import { Axis, logTicks, STEPS, stepTicks } from '../src/training/axis';
import { colourOf, pathOf, prepare } from '../src/training/lines';
import { labelOf, Legend } from '../src/training/legend';
import { drawSpikes, roundUp, type Field, type Span } from '../src/training/marks';
import {
  arrange,
  decode,
  epochOf,
  extent,
  isFine,
  nearest,
  smooth,
  within,
  type Line
} from '../src/training/series';
import { done, saying, whereabouts } from '../src/training/status';
import { decodeStrip, shortNames, toned } from '../src/training/strip';
import { Window } from '../src/training/window';

function line(values: number[], more: Partial<Line> = {}): Line {
  const steps = Float64Array.from(values, (_, index) => index + 1);
  const own = Float64Array.from(values);
  return {
    run: 0,
    name: 'loss',
    kind: 'loss',
    part: 'train',
    missing: 0,
    steps,
    values: own,
    ends: steps,
    means: own,
    counts: steps.map(() => 1),
    ...more
  };
}

const doubles = (...values: number[]): DataView => new DataView(Float64Array.from(values).buffer);

describe('a curve', () => {
  const curve: TrainingCurve = {
    name: 'loss',
    kind: 'loss',
    part: 'train',
    points: 2,
    points_buffer: 0,
    stretches: 1,
    means_buffer: 1,
    missing: 0
  };

  it('is read from its buffers', () => {
    const made = decode(curve, [doubles(1, 4, 0.5, Number.NaN), doubles(4, 0.75, 4)]);
    expect([...made.steps]).toEqual([1, 4]);
    expect([...made.values]).toEqual([0.5, Number.NaN]);
    expect([[...made.ends], [...made.means], [...made.counts]]).toEqual([[4], [0.75], [4]]);
    expect(isFine(made)).toBe(false);
  });

  it('that does not fit its buffers is refused', () => {
    expect(() => decode(curve, [doubles(1, 2, 3), doubles(1, 2, 3)])).toThrow(StateError);
    expect(() => decode({ ...curve, points: 1e9 }, [])).toThrow('1000000000 points');
  });

  it('is smoothed as the running average that Python draws, corrected for its start', () => {
    expect([...smooth(line([1, 1, 1]), 0.9)].map(value => Number(value.toFixed(12)))).toEqual([1, 1, 1]);
    const [first, second] = smooth(line([4, 0]), 0.5);
    expect(first).toBe(4);
    expect(second).toBeCloseTo((0.5 * 0.5 * 4) / 0.75, 12);
    expect([...smooth(line([4, 0]), 0)]).toEqual([4, 0]);
  });

  it('passes over what is no number, and weighs a stretch that is not whole yet by its part', () => {
    expect([...smooth(line([Number.NaN, 2, Number.NaN]), 0.9)]).toEqual([Number.NaN, 2, 2]);
    const uneven = line([1, 3], { counts: Float64Array.of(100, 1) });
    const even = line([1, 3]);
    expect(smooth(uneven, 0.9)[1]!).toBeLessThan(smooth(even, 0.9)[1]!);
  });

  it('is drawn with gaps, and never far outside the picture', () => {
    const x = new Scale(1, 4, 0, 300);
    const path = pathOf(
      Float64Array.of(1, 2, 3, 4),
      Float64Array.of(1, Number.NaN, 1e12, 2),
      x,
      new Axis(0, 3, false, 100, 0)
    );
    expect(path.match(/M/g)).toHaveLength(2);
    expect(path).toContain('-2000.0');
    expect(path).not.toContain('NaN');
  });
});

describe('charts', () => {
  it('put train and validation together, and loss before what explains it', () => {
    const validation = line([1], { part: 'validation', ends: new Float64Array() });
    const norm = line([1], { name: 'gradient norm', kind: 'norm' });
    const top = line([1], { name: 'top_5', kind: 'metric' });
    const charts = arrange([norm, line([2]), line([]), top, validation]);
    expect(charts.map(chart => [chart.title, chart.lines.length])).toEqual([
      ['loss', 2],
      ['top 5', 1],
      ['gradient norm', 1]
    ]);
  });

  it('are not flattened by what stands out', () => {
    const quiet = [...Array.from({ length: 400 }, (_, index) => 1 + (index % 10) / 10), 900];
    expect(extent([], quiet, false)[1]).toBeLessThan(3);
    expect(extent([Float64Array.of(5)], quiet, false)[1]).toBeGreaterThan(5);
    expect(extent([], [], false)).toEqual([0, 1]);
    const [low, high] = extent([Float64Array.of(2, 2)], [], false);
    expect(low).toBeLessThan(2);
    expect(high).toBeGreaterThan(2);
  });

  it('leave out what has no place on a log scale', () => {
    const [low, high] = extent([Float64Array.of(-1, 0, 0.01, 10)], [], true);
    expect(low).toBeGreaterThan(0);
    expect(high).toBeGreaterThan(10);
    const axis = new Axis(low, high, true, 100, 0);
    expect(axis.at(0)).toBeNaN();
    expect(axis.at(0.1) - axis.at(1)).toBeCloseTo(axis.at(1) - axis.at(10));
    expect(axis.inside(1e9)).toBe(0);
  });

  it('tick log scales at round numbers that fit', () => {
    expect(logTicks(0.9, 12, 5)).toEqual([1, 2, 5, 10]);
    expect(logTicks(1e-6, 1, 3).length).toBeLessThanOrEqual(5);
    expect(logTicks(1e-6, 1, 3).length).toBeGreaterThan(1);
    expect(logTicks(0.3, 0.5, 3).length).toBeGreaterThan(1);
  });

  it('tick steps with SI prefixes for all, or for none', () => {
    const texts = (low: number, high: number): string[] => stepTicks(low, high, 5).map(([, text]) => text);
    expect(texts(1, 20_480)).toEqual(['5 K', '10 K', '15 K', '20 K']);
    expect(texts(1, 4000)).toEqual(['1,000', '2,000', '3,000', '4,000']);
    expect(texts(1_000_100, 1_000_400)).toContain('1,000,200');
    expect(texts(1, 1)).toEqual(['1']);
  });

  it('write small values without zeros that say nothing', () => {
    const texts = (high: number): string[] =>
      new Axis(0, high, false, 100, 0).ticks(2).map(([, text]) => text);
    expect(texts(0.0004)).toEqual(['0', '0.0002', '0.0004']);
    expect(texts(4e-5)).toEqual(['0', '2e−5', '4e−5']);
    expect(texts(4)).toEqual(['0', '2', '4']);
  });

  it('reach over what is shown, and over one point more at each side', () => {
    const steps = Float64Array.of(10, 20, 30, 40, 50);
    const values = Float64Array.of(1, 2, 3, 4, 5);
    expect([...within(steps, values, { low: 18, high: 32 })]).toEqual([1, 2, 3, 4]);
    expect([...within(steps, values, { low: 22, high: 38 })]).toEqual([2, 3, 4]);
    expect([...within(steps, values, { low: 1, high: 99 })]).toEqual([1, 2, 3, 4, 5]);
  });

  it('have the colour of their part, or of their run where several are compared', () => {
    const own = prepare(line([1, 2], { part: 'validation' }), 0.9, false, false);
    expect([own.colour, own.dashes]).toEqual([colourOf({ kind: 'loss', part: 'validation' }, false), null]);
    const [first, second] = [0, 1].map(run => prepare(line([1, 2], { run }), 0.9, false, true));
    expect(first!.colour).not.toBe(second!.colour);
    expect([first!.raw, second!.raw]).toEqual([true, false]);
    expect(prepare(line([1], { part: 'validation', run: 1 }), 0.9, false, true).dashes).not.toBeNull();
  });

  it('number epochs roundly', () => {
    expect([0.2, 1, 1.4, 3, 7, 30, 51].map(roundUp)).toEqual([1, 1, 2, 5, 10, 50, 100]);
  });
});

describe('spikes', () => {
  const theme: Theme = {
    dark: false,
    paper: [255, 255, 255],
    ink: '#212121',
    quiet: '#616161',
    line: '#e0e0e0',
    accent: '#1976d2',
    font: 'sans-serif'
  };
  const field = (): Field => ({
    svg: s('svg', {}),
    x: new Scale(0, 1000, 52, 390),
    y: new Axis(0, 20, false, 140, 16),
    width: 400,
    height: 160,
    top: 16,
    theme,
    across: STEPS
  });

  function spans(drawn: Field): Span[] {
    return [...drawn.svg.querySelectorAll('text')].map(text => {
      const at = Number(text.getAttribute('x'));
      const wide = textWidth(text.textContent ?? '', 10);
      return text.getAttribute('text-anchor') === 'end' ? [at - wide, at] : [at, at + wide];
    });
  }

  it('each has a mark and says its step to who points at it, and labels overlap nothing', () => {
    for (const gap of [1, 3, 8, 20, 60]) {
      const drawn = field();
      const steps = Array.from({ length: Math.floor(1000 / gap) + 1 }, (_, index) => index * gap);
      const taken: Span[] = [[200, 260]];
      drawSpikes(
        drawn,
        steps.map(step => ({ step, value: 5 + (step % 7), usual: 1 })),
        taken
      );
      expect(drawn.svg.querySelectorAll('[data-spike] path')).toHaveLength(steps.length);
      expect(drawn.svg.querySelector(`[data-spike="${steps[1]}"] title`)?.textContent).toContain(
        `step ${steps[1]}:`
      );
      const all = [...spans(drawn), [200, 260] as Span].sort((one, other) => one[0] - other[0]);
      all.slice(1).forEach((span, index) => expect(span[0]).toBeGreaterThanOrEqual(all[index]![1]));
      for (const [from, to] of all) {
        expect(from).toBeGreaterThanOrEqual(52);
        expect(to).toBeLessThanOrEqual(390);
      }
    }
  });

  it('the largest is labelled first, and one at the right end to its left', () => {
    const drawn = field();
    drawSpikes(
      drawn,
      [
        { step: 500, value: 3, usual: 1 },
        { step: 512, value: 9, usual: 1 },
        { step: 999, value: 4, usual: 1 }
      ],
      []
    );
    expect([...drawn.svg.querySelectorAll('text')].map(text => text.textContent)).toContain('512');
    const last = drawn.svg.querySelector('[data-spike="999"] text');
    expect(last?.getAttribute('text-anchor')).toBe('end');
  });

  it('one that is not among the steps that are shown is not drawn', () => {
    const drawn = field();
    drawSpikes(drawn, [{ step: 2000, value: 3, usual: 1 }], []);
    expect(drawn.svg.childElementCount).toBe(0);
  });
});

describe('names of runs', () => {
  const long = 'ten times the learning rate of the run before, with warmup';
  const drawn = prepare(line([3, 2, 1], { run: 1 }), 0, false, true);

  it('a long one is cut between words, and stands whole in the title', () => {
    expect(labelOf(drawn, ['this', long])).toBe('ten times the…before, with warmup train');
    const legend = new Legend();
    legend.draw([drawn], ['this', long], false, '');
    const entry = legend.element.querySelector('[title]');
    expect(entry?.getAttribute('title')).toBe(`${long}, train`);
    expect(entry?.textContent).toContain('ten times the…before, with warmup');
  });

  it('a short one is whole', () => {
    expect(labelOf(drawn, ['this', 'that'])).toBe('that train');
  });
});

describe('steps', () => {
  it('are found by halving', () => {
    expect([-5, 1, 2.4, 2.6, 9].map(step => nearest([1, 2, 3], step))).toEqual([0, 0, 1, 2, 2]);
    expect(nearest([], 1)).toBe(-1);
    expect(nearest([7], 1)).toBe(0);
  });

  it('belong to epochs', () => {
    const marks = [
      { epoch: 1, step: 10 },
      { epoch: 2, step: 20 }
    ];
    expect([1, 10, 11, 25].map(step => epochOf(step, marks, 2))).toEqual([
      'epoch 1',
      'epoch 1',
      'epoch 2',
      'epoch 3'
    ]);
    expect(epochOf(15, [{ epoch: 4, step: 40 }], 4)).toBe('epochs 1–4');
    expect(epochOf(5, [], 0)).toBe('epoch 1');
  });
});

describe('layers over time', () => {
  const strip: TrainingStrip = {
    name: 'update / weight',
    layers: ['a', 'b'],
    left_out: 0,
    steps: [1, 2],
    values_buffer: 0
  };
  const floats = (...values: number[]): DataView => new DataView(Float32Array.from(values).buffer);

  it('range over orders of magnitude, but units are dead in parts of all', () => {
    const ratios = toned(decodeStrip(strip, [floats(0.001, 0.01, 0, Number.NaN)]));
    expect(ratios.log).toBe(true);
    expect([ratios.low, ratios.high]).toEqual([expect.closeTo(-3, 5), expect.closeTo(-2, 5)]);
    expect(ratios.values[2]).toBeCloseTo(-3);
    expect(ratios.values[3]).toBeNaN();
    const dead = toned(decodeStrip({ ...strip, name: 'dead units' }, [floats(0, 0.5, 0.1, 0.2)]));
    expect([dead.low, dead.high, dead.log]).toEqual([0, 1, false]);
  });

  it('are refused where they do not fit', () => {
    expect(() => decodeStrip(strip, [floats(1, 2)])).toThrow(StateError);
  });

  it('are named by what tells them apart, where names are long', () => {
    const long = [0, 1].map(layer => `encoder.layers.${layer}.attention.out_proj`);
    expect(shortNames(long)).toEqual({ names: ['0', '1'], around: 'encoder.layers.*.attention.out_proj' });
    expect(shortNames(['fc1', 'fc2'])).toEqual({ names: ['fc1', 'fc2'], around: '' });
    expect(shortNames([long[0]!])).toEqual({ names: [long[0]], around: '' });
    expect(shortNames(['a.very.long.name.of.a.layer', 'a.very.long.name.of.a'])).toEqual({
      names: ['a.layer', 'a'],
      around: 'a.very.long.name.of.*'
    });
    const apart = ['the.name.of.the.first.layer.a', 'another.name.of.a.layer.b'];
    expect(shortNames(apart)).toEqual({ names: apart, around: '' });
  });
});

describe('the steps that are shown', () => {
  const all = { low: 1, high: 1000 };

  it('are all, or a part at whole steps, with a way back', () => {
    const window = new Window();
    expect(window.of(all)).toEqual(all);
    expect(window.show({ low: 300.4, high: 100.2 }, all)).toBe(true);
    expect([window.of(all), window.narrow]).toEqual([{ low: 100, high: 300 }, true]);
    expect(window.show({ low: 100, high: 300 }, all)).toBe(false);
    expect(window.show({ low: -50, high: 5000 }, all)).toBe(true);
    expect([window.of(all), window.narrow]).toEqual([all, false]);
    expect([window.undo(), window.of(all)]).toEqual([true, { low: 100, high: 300 }]);
    expect([window.undo(), window.of(all)]).toEqual([true, all]);
    expect(window.undo()).toBe(false);
  });

  it('are at least two, and are left alone by what is too small', () => {
    const window = new Window();
    expect(window.show({ low: 5, high: 5.2 }, all)).toBe(false);
    expect(window.show({ low: 2000, high: 3000 }, all)).toBe(false);
    expect(window.narrow).toBe(false);
  });

  it('become fewer and more around a step that stays where it is', () => {
    const window = new Window();
    window.show({ low: 100, high: 300 }, all);
    expect(window.scale(0.5, 150, all)).toBe(true);
    expect(window.of(all)).toEqual({ low: 125, high: 225 });
    window.scale(2, 150, all);
    expect(window.of(all)).toEqual({ low: 100, high: 300 });
    for (let turn = 0; turn < 20; turn++) {
      window.scale(0.5, 200, all);
    }
    expect(window.of(all).high - window.of(all).low).toBe(2);
  });

  it('stay while new steps come, and are all again where a training begins anew', () => {
    const window = new Window();
    window.show({ low: 100, high: 300 }, all);
    expect(window.of({ low: 1, high: 5000 })).toEqual({ low: 100, high: 300 });
    expect(window.of({ low: 1, high: 20 })).toEqual({ low: 1, high: 20 });
  });
});

describe('how far it is', () => {
  const counters: TrainingCounters = {
    epoch: 2,
    epochs: 10,
    step: 412,
    steps: 1200,
    batch: 12,
    batches: 40,
    samples: 0,
    skipped: 0,
    seconds: 1,
    seconds_left: 2,
    rate: 3
  };

  it('is said in words', () => {
    expect(whereabouts(counters)).toEqual(['epoch 3 of 10', 'batch 12 of 40', 'step 412 of 1,200']);
    expect(whereabouts({ ...counters, batch: 0, epochs: null, steps: null })).toEqual([
      '2 epochs',
      'step 412'
    ]);
    expect(done(counters, 'running')).toBeCloseTo(412 / 1200);
    expect(done({ ...counters, steps: null }, 'running')).toBeNull();
    expect(done({ ...counters, steps: null }, 'finished')).toBe(1);
  });

  it('tells what was asked for, and that nobody knows any more', () => {
    expect(saying({ status: 'running', asked: 'pause' }, false)[1]).toBe('pausing …');
    expect(saying({ status: 'paused', asked: 'stop' }, false)[1]).toBe('stopping …');
    expect(saying({ status: 'running', asked: '' }, true)[1]).toBe('was running');
    expect(saying({ status: 'finished', asked: '' }, true)[1]).toBe('finished');
  });

  it('writes long times', () => {
    expect([59.99, 75, 3600, 5400, 90_000].map(duration)).toEqual([
      '1 min 0 s',
      '1 min 15 s',
      '1 h 0 min',
      '1 h 30 min',
      '1 d 1 h'
    ]);
  });
});
