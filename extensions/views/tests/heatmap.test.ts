import { describe, expect, it } from 'vitest';
import type { BoardRow } from '../src/protocol';
import { bestOf, cellText, sorted } from '../src/heatmap/board';
import { keyed, Reaches, type PartData } from '../src/heatmap/part';
import { reachOf } from '../src/heatmap/tone';
import { shownScores } from '../src/heatmap/top';
import { isOver } from '../src/heatmap/verdict';
import { workWords } from '../src/common/work';
import { workOf } from '../src/heatmap/work';

function row(method: string, value: number | null): BoardRow {
  return {
    method,
    title: method,
    made: '',
    standing: 'done',
    trouble: '',
    attribution_buffer: null,
    cells: [{ value, note: '' }]
  };
}

describe('the board', () => {
  const rows = [row('a', 3), row('b', null), row('c', 1), row('d', 2)];
  const names = (some: readonly BoardRow[]): string => some.map(one => one.method).join('');

  it('puts rows without a figure last, whichever way it sorts', () => {
    expect(names(sorted(rows, null))).toBe('abcd');
    expect(names(sorted(rows, { column: 0, down: false }))).toBe('cdab');
    expect(names(sorted(rows, { column: 0, down: true }))).toBe('adcb');
  });

  it('marks the best where one can be', () => {
    expect(bestOf(rows, 0, 'low')).toBe(1);
    expect(bestOf(rows, 0, 'high')).toBe(3);
    expect(bestOf(rows, 0, '')).toBeNull();
    expect(bestOf([rows[0]!, rows[1]!], 0, 'low')).toBeNull();
  });

  it('writes times as times, and what is not there as a dash', () => {
    const time = { name: 'time', title: 'Time', better: 'low', meaning: '' };
    expect(cellText({ value: 0.048, note: '' }, time)).toBe('48 ms');
    expect(cellText({ value: null, note: '' }, time)).toBe('–');
  });
});

describe('one scale', () => {
  const map = (kind: 'map' | 'other' | 'difference', ...values: number[]): PartData['maps'][number] => ({
    name: kind,
    kind,
    values: Float32Array.from(values)
  });
  const data = (...maps: PartData['maps']): PartData => ({ maps }) as unknown as PartData;

  it('reaches over all inputs and both models, not their difference', () => {
    const parts = [
      data(map('map', 1, -2), map('other', 4, 0), map('difference', 99, 99)),
      data(map('map', -3))
    ];
    expect(new Reaches(parts).at('all', 100)).toBe(4);
    expect(new Reaches(parts).at('negative', 100)).toBe(3);
    expect(new Reaches([data(map('map', Number.NaN))]).at('all', 99)).toBe(1);
    expect(new Reaches([data(map('map', 0, 0))]).at('all', 99)).toBe(1);
  });
});

describe('the reach of a map', () => {
  it('is the percentile of each sign, without sorting again', () => {
    const signs = ['all', 'positive', 'negative', 'absolute'] as const;
    for (const given of [
      [3, -1, 0, -7, 2.5, -2.5, Number.NaN, 0.5],
      [-1, -2, -3],
      [1, 2, 3],
      [0, 0]
    ]) {
      const values = Float32Array.from(given);
      const maps: PartData['maps'] = [{ name: 'map', kind: 'map', values }];
      const reaches = new Reaches([{ maps } as unknown as PartData]);
      for (const sign of signs) {
        for (const percentile of [10, 50, 75, 99, 100]) {
          expect(reaches.at(sign, percentile)).toBe(reachOf(values, sign, percentile));
        }
      }
    }
  });
});

describe('words', () => {
  it('says rate and time left only where they are known', () => {
    const work = { what: '', rows: 100, total: 300, seconds: 2 };
    expect(workWords(workOf(work))).toBe('100 of 300 rows through the model · 50 rows/s · about 4 s left');
    expect(workWords(workOf({ ...work, total: null }))).toBe('100 rows through the model · 50 rows/s');
    expect(workWords(workOf({ ...work, seconds: 0 }))).toBe('100 of 300 rows through the model');
  });

  it('knows a delta over its tolerance', () => {
    expect(isOver({ delta: -0.2, tolerance: 0.1 })).toBe(true);
    expect(isOver({ delta: 0.1, tolerance: 0.1 })).toBe(false);
    expect(isOver({ delta: null, tolerance: 0.1 })).toBe(false);
  });

  it('shows the true and the explained class, however little they weigh', () => {
    const predictions = Array.from({ length: 9 }, (_, index) => ({
      label: String(index),
      probability: 0.1,
      index
    }));
    const shown = shownScores({ predictions, truth: '7', target_index: 8 });
    expect(shown.map(one => one.index)).toEqual([0, 1, 2, 3, 4, 7, 8]);
  });
});

describe('keys', () => {
  const press = (key: string, shiftKey = false): KeyboardEvent => ({ key, shiftKey }) as KeyboardEvent;
  const size = { height: 3, width: 10 };

  it('lead from cell to cell and stay inside', () => {
    expect(keyed(press('ArrowRight'), null, size)).toEqual({ row: 0, column: 0 });
    expect(keyed(press('ArrowRight', true), { row: 0, column: 7 }, size)).toEqual({ row: 0, column: 9 });
    expect(keyed(press('End'), null, size)).toEqual({ row: 2, column: 9 });
    expect(keyed(press('Escape'), { row: 1, column: 1 }, size)).toBeNull();
    expect(keyed(press('x'), null, size)).toBeUndefined();
  });
});
