import { describe, expect, it } from 'vitest';
import { mapFor, mapped, pick as pickSign, reachOf, type Tone } from '../src/heatmap/tone';
import type { ClashOperand, FlowOperand, FlowRow } from '../src/protocol';
import { bar, barLabel } from '../src/shapes/bars';
import { columnWidths, fitWidths, wrap } from '../src/shapes/clash';
import { flows, layoutRow } from '../src/shapes/flowLayout';
import { linePath } from '../src/shapes/plot';
import { rowText } from '../src/shapes/flow';
import { sparkPath } from '../src/shapes/tensor';
import { Scale } from '../src/common/scales';
import { textWidth } from '../src/common/text';

const operand = (
  label: string,
  dims: readonly (readonly [string | null, number])[],
  more: Partial<FlowOperand> = {}
): FlowOperand => ({
  label,
  dtype: 'f32',
  dims: dims.map(([name, size]) => ({ name, size })),
  contracted: [],
  reduced: [],
  broadcast: [],
  becomes: [],
  ...more
});

const row = (inputs: FlowOperand[], output: FlowOperand): FlowRow => ({
  node: 'n',
  op: 'op',
  scope: '',
  source: '',
  inputs,
  output
});

describe('dims that flow', () => {
  const conv = row(
    [
      operand(
        'x',
        [
          ['N', 64],
          ['C', 3],
          ['H', 28],
          ['W', 28]
        ],
        { contracted: [1] }
      ),
      operand(
        'weight',
        [
          ['O', 16],
          ['C', 3],
          ['kh', 3],
          ['kw', 3]
        ],
        { contracted: [1, 2, 3] }
      )
    ],
    operand('y', [
      ['N', 64],
      ['O', 16],
      ['H', 26],
      ['W', 26]
    ])
  );

  it('go by name from inputs to the output, contracted ones nowhere', () => {
    expect(flows(conv).map(flow => [flow.operand, flow.dim, flow.output])).toEqual([
      [0, 0, 0],
      [0, 2, 2],
      [0, 3, 3],
      [1, 0, 1]
    ]);
  });

  it('go where Python says, whatever the names', () => {
    const bias = operand('bias', [['out', 16]], { becomes: [1] });
    const made = row(
      [bias],
      operand('y', [
        ['N', 64],
        ['C', 16]
      ])
    );
    expect(flows(made)).toEqual([{ operand: 0, dim: 0, output: 1 }]);
    expect(flows(row([{ ...bias, becomes: [7] }], made.output))).toEqual([]);
  });

  it('cross when permuted', () => {
    const permute = row(
      [
        operand('x', [
          ['H', 2],
          ['W', 3]
        ])
      ],
      operand('y', [
        ['W', 3],
        ['H', 2]
      ])
    );
    expect(flows(permute).map(flow => flow.output)).toEqual([1, 0]);
  });

  it('without names go by place from the right', () => {
    const add = row(
      [
        operand('a', [
          [null, 4],
          [null, 3]
        ]),
        operand('b', [[null, 3]])
      ],
      operand('y', [
        [null, 4],
        [null, 3]
      ])
    );
    expect(flows(add).map(flow => [flow.operand, flow.output])).toEqual([
      [0, 0],
      [0, 1],
      [1, 1]
    ]);
  });

  it('fit any width', () => {
    for (const width of [140, 280, 560, 1200]) {
      const layout = layoutRow(conv, width);
      const end = Math.max(...layout.bars.map(bar => bar.x + bar.length));
      expect(end).toBeLessThanOrEqual(width + 1);
      expect(layout.bars).toHaveLength(12);
    }
    expect(layoutRow(conv, 280).height).toBeGreaterThan(layoutRow(conv, 1200).height);
  });

  it('are told in words', () => {
    expect(rowText(conv)).toContain('C 3 (contracted: ends in this op)');
  });
});

describe('the label of a bar', () => {
  const long = { name: 'out_channels', size: 4096 };

  it('is whole where it fits, and keeps the size where it does not', () => {
    expect(barLabel({ name: 'C', size: 64 }, 60)).toBe('C 64');
    expect(barLabel(long, 200)).toBe('out_channels 4096');
    expect(barLabel(long, 80)).toMatch(/^out_\w*… 4096$/);
    expect(barLabel({ name: null, size: 64 }, 60)).toBe('·64');
    expect(barLabel({ name: 'positions_of_tokens', size: 3_000_000 }, 80)).toMatch(/^pos\w*… 3 M$/);
  });

  it('never reaches beyond its bar', () => {
    for (let room = 22; room < 140; room++) {
      expect(textWidth(barLabel(long, room))).toBeLessThanOrEqual(room);
    }
  });

  it('has the whole name and size in its title', () => {
    const drawn = bar(long, 0, 0, 80, {}, false);
    expect(drawn.querySelector('title')?.textContent).toContain('out_channels 4096');
    expect(drawn.querySelector('text')?.textContent).toMatch(/4096$/);
  });
});

describe('a clash', () => {
  it('gives the clashing column room and keeps columns aligned from the right', () => {
    const dim = (name: string, size: number, clash = false) => ({ name, size, origin: '', clash });
    const operands: ClashOperand[] = [
      { label: 'a', dims: [dim('N', 64), dim('W', 28, true)] },
      { label: 'b', dims: [dim('W', 26, true)] }
    ];
    const widths = columnWidths(operands);
    expect(widths).toHaveLength(2);
    expect(widths[0]!).toBeGreaterThan(widths[1]!);
  });

  it('gives up room where there is none, and never what a bar says', () => {
    expect(fitWidths([100, 60], [40, 30], 500)).toEqual([100, 60]);
    expect(fitWidths([100, 60], [40, 30], 115)).toEqual([70, 45]);
    expect(fitWidths([100, 60], [40, 30], 10)).toEqual([40, 30]);
    expect(fitWidths([20], [40], 10)).toEqual([20]);
  });

  it('wraps origins into their column', () => {
    const lines = wrap('mask = wb.ones(H=28, W=26), in cell 4, line 1, called by the training loop', 100, 3);
    expect(lines).toHaveLength(3);
    lines.forEach(line => expect(textWidth(line, 10.5)).toBeLessThanOrEqual(100));
    expect(lines.at(-1)).toContain('…');
  });
});

describe('small pictures', () => {
  it('leave a gap where a line has no value', () => {
    const path = linePath(
      Float32Array.of(1, 2, Number.NaN, 3),
      new Scale(0, 3, 0, 300),
      new Scale(0, 3, 100, 0)
    );
    expect(path.match(/M/g)).toHaveLength(2);
    expect(path).not.toContain('NaN');
  });

  it('show the extremes of values that share a pixel', () => {
    const values = Float32Array.from({ length: 10_000 }, (_, index) => (index === 5000 ? 9 : 0));
    const path = linePath(values, new Scale(0, 9999, 0, 100), new Scale(0, 9, 100, 0));
    expect(path).toContain(' 0.0');
    expect(path.length).toBeLessThan(8000);
  });

  it('never lose a bin that holds something', () => {
    expect(sparkPath([1, 0, 1_000_000], 30, 20).match(/M/g)).toHaveLength(2);
    expect(sparkPath([], 30, 20)).toBe('');
  });
});

describe('tones of a heatmap', () => {
  const tone: Tone = { sign: 'all', map: 'viridis', blend: 1, percentile: 99 };

  it('choose signs', () => {
    expect([-2, 3].map(value => pickSign(value, 'positive'))).toEqual([0, 3]);
    expect([-2, 3].map(value => pickSign(value, 'negative'))).toEqual([2, 0]);
    expect([-2, 3].map(value => pickSign(value, 'absolute'))).toEqual([2, 3]);
  });

  it('reach to a percentile of the sizes and ignore what is no number', () => {
    const values = Float32Array.from([
      ...Array.from({ length: 99 }, (_, index) => index - 49),
      1000,
      Number.NaN
    ]);
    expect(reachOf(values, 'all', 100)).toBe(1000);
    expect(reachOf(values, 'all', 99)).toBe(49);
    expect(reachOf(Float32Array.of(0, 0, 0), 'all', 99)).toBe(1);
    expect(reachOf(new Float32Array(), 'all', 99)).toBe(1);
  });

  it('keep zero in the middle while both signs count', () => {
    expect(mapped(0, tone, 5).entry).toBe(128);
    expect(mapped(-50, tone, 5).entry).toBe(0);
    expect(mapped(0, { sign: 'absolute' }, 5).entry).toBe(0);
    expect(mapFor(tone)).toBe('signed');
    expect(mapFor({ ...tone, sign: 'positive' })).toBe('viridis');
  });
});
