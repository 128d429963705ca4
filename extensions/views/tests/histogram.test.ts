import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '../src/host';
import { RangeControl } from '../src/histogram/control';
import { accuracyText, samplesText, arrange } from '../src/histogram/list';
import { clipped, domain, levels, optimum, previewSqnr, spiky, whyNot } from '../src/histogram/range';
import type { ObserverDetail, ObserverRow, SetRangeEvent } from '../src/protocol';

const detail = { id: 'a', low: -1, high: 1 } as ObserverDetail;

function control(answer: Answer | void = { accepted: true, reason: '' }) {
  const sent: SetRangeEvent[] = [];
  const made = new RangeControl(
    event => {
      sent.push(event);
      return Promise.resolve(answer);
    },
    () => undefined
  );
  made.accept(detail);
  return { made, sent };
}

const soon = () => new Promise(resolve => setTimeout(resolve, 5));

describe('ranges', () => {
  it('say why they are none', () => {
    expect(whyNot({ low: -1, high: 1 })).toBe('');
    expect(whyNot({ low: 1, high: 1 })).toContain('is not below the high end');
    expect(whyNot({ low: Number.NaN, high: 1 })).toContain('two finite numbers');
  });

  it('count what they clip, in part where a bin is cut', () => {
    const counts = [10, 10, 10, 10];
    expect(clipped(counts, { low: 0, high: 4 }, { low: 0.5, high: 3 })).toEqual({ low: 0.125, high: 0.25 });
    expect(clipped([], { low: 0, high: 1 }, { low: 0, high: 1 })).toEqual({ low: 0, high: 0 });
    expect(clipped([5], { low: 2, high: 2 }, { low: 0, high: 1 })).toEqual({ low: 0, high: 0 });
  });

  it('read the error curve between its points and not beyond', () => {
    const curve = [
      { width: 1, low: -1, high: 1, sqnr: 20 },
      { width: 0.5, low: -0.5, high: 0.5, sqnr: 30 },
      { width: 2, low: -2, high: 2, sqnr: null }
    ];
    expect(previewSqnr(curve, { low: 0, high: 1.5 })).toBeCloseTo(25);
    expect(previewSqnr(curve, { low: 0, high: 3 })).toBeNull();
    const own = { low: -0.6, high: 0.6, sqnr: null, curve, candidates: [] };
    expect(optimum(own)?.sqnr).toBe(30);
    expect(optimum({ ...own, curve: [] })).toBeNull();
  });

  it('call nothing the optimum that is below the layer’s own figure, or a candidate’s', () => {
    const curve = [{ width: 0.5, low: -0.5, high: 0.5, sqnr: 30 }];
    const own = { low: -0.6, high: 0.6, sqnr: 31, curve, candidates: [] };
    expect(optimum(own)).toEqual({ low: -0.6, high: 0.6, sqnr: 31 });
    const found = { low: -0.55, high: 0.5, sqnr: 32 };
    expect(optimum({ ...own, candidates: [found, { ...found, sqnr: null }] })).toEqual(found);
  });

  it('tick every level where there is room and every 2ⁿth where not', () => {
    expect(levels({ low: 0, high: 1 }, 15, 600, 4)).toMatchObject({ every: 1 });
    expect(levels({ low: 0, high: 1 }, 255, 200, 4).every).toBe(8);
  });

  it('are shown over log counts where one bin towers over all others', () => {
    expect(spiky([3_000_000, 0, 900, 1000, 1100, 40])).toBe(true);
    expect(spiky([10, 50, 90, 100, 90, 50, 10])).toBe(false);
    expect(spiky([5, 0, 0])).toBe(false);
    expect(spiky([])).toBe(false);
  });

  it('lie inside the picture', () => {
    const shown = domain({ low: -1, high: 2 }, { low: -3, high: 1 }, 'all');
    expect(shown.low).toBeLessThan(-3);
    expect(shown.high).toBeGreaterThan(2);
  });
});

describe('a hand on a range', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is ahead of Python until the next state after the answer', async () => {
    const { made, sent } = control();
    made.move({ low: -1, high: 2 }, false);
    made.move({ low: -1, high: 3 }, true);
    expect(made.range.high).toBe(3);
    made.accept(detail);
    expect(made.range.high).toBe(3);
    await soon();
    expect(sent.map(event => event.final)).toEqual([false, true]);
    made.accept({ ...detail, high: 2.9 });
    expect(made.range.high).toBe(2.9);
    made.destroy();
  });

  it('is not overruled by the patience of its last movement', async () => {
    vi.useFakeTimers();
    const { made } = control();
    made.move({ low: -1, high: 2 }, true);
    await vi.advanceTimersByTimeAsync(1000);
    made.move({ low: -1, high: 3 }, false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(made.range.high).toBe(3);
    made.destroy();
  });

  it('puts back what was there when it ends in nonsense', async () => {
    const { made, sent } = control();
    made.move({ low: 0.5, high: 1 }, false);
    await soon();
    made.move({ low: 2, high: 1 }, false);
    expect(made.refusal).toContain('is not below');
    made.move({ low: 2, high: 1 }, true);
    expect(made.refusal).toContain('The range stays as it was.');
    expect(made.range).toEqual({ low: -1, high: 1 });
    await soon();
    expect(sent.at(-1)).toMatchObject({ low: -1, high: 1, final: true });
    made.destroy();
  });

  it('sends nothing at all if all it did was nonsense', () => {
    const { made, sent } = control();
    made.move({ low: 2, high: 1 }, true);
    expect(sent).toEqual([]);
    expect(made.range).toEqual({ low: -1, high: 1 });
  });

  it('goes back when Python refuses, and says why', async () => {
    const { made } = control({ accepted: false, reason: 'the observer is frozen' });
    made.move({ low: -1, high: 2 }, true);
    await soon();
    expect(made.refusal).toBe('the observer is frozen');
    expect(made.range).toEqual({ low: -1, high: 1 });
  });

  it('moves both ends of a symmetric range, and one of any other', () => {
    const { made } = control();
    made.moveEnd('high', 2, false);
    expect(made.range).toEqual({ low: -1, high: 2 });
    made.accept({ ...detail, id: 'b', settings: { symmetric: true } } as ObserverDetail);
    made.moveEnd('high', 0.6, false);
    expect(made.range).toEqual({ low: -0.6, high: 0.6 });
    made.moveEnd('low', -0.25, false);
    expect(made.range).toEqual({ low: -0.25, high: 0.25 });
    made.moveEnd('high', -0.1, true);
    expect(made.refusal).toContain('the low end 0.100 is not below the high end −0.100');
  });

  it('lets go when another observer is shown', () => {
    const { made } = control();
    made.move({ low: -1, high: 2 }, false);
    made.accept({ ...detail, id: 'b' });
    expect(made.range).toEqual({ low: -1, high: 1 });
    expect(made.ahead).toBe(false);
  });
});

describe('the list of observers', () => {
  const row = (name: string, sqnr: number | null, nan = 0): ObserverRow =>
    ({ id: name, name, sqnr, nan, inf: 0 }) as ObserverRow;
  const rows = [
    row('conv1.weight', 30),
    row('conv1.output', null),
    row('fc.weight', 20),
    row('fc.output', 40, 2)
  ];

  it('puts the worst first, NaN before all and what has no figure last', () => {
    expect(arrange(rows, 'worst', '').map(each => each.name)).toEqual([
      'fc.output',
      'fc.weight',
      'conv1.weight',
      'conv1.output'
    ]);
    expect(arrange(rows, 'graph', '')).toEqual(rows);
  });

  it('says of how many samples the figures of the model are', () => {
    const figures = { sqnr: 31, accuracy: null, float_accuracy: null };
    expect(samplesText({ ...figures, samples: 3, held: 8 })).toBe('3 of 8');
    expect(samplesText({ ...figures, samples: null, held: 1200 })).toBe('1,200');
  });

  it('is searched by words', () => {
    expect(arrange(rows, 'graph', 'OUT fc').map(each => each.name)).toEqual(['fc.output']);
  });

  it('says how accuracy changed in points', () => {
    const whole = { samples: null, held: 8 };
    expect(accuracyText({ sqnr: null, accuracy: 0.989, float_accuracy: 0.99, ...whole })).toBe(
      '98.9 % (−0.1)'
    );
    expect(accuracyText({ sqnr: null, accuracy: 0.989, float_accuracy: null, ...whole })).toBe('98.9 %');
    expect(accuracyText({ sqnr: null, accuracy: null, float_accuracy: 0.99, ...whole })).toBe('–');
  });
});
