/** Example states of the heatmap view. */
import type { HeatmapState } from '../../src/protocol';
import type { Example } from './tools';
import { digit, floats, head, HOSTILE, normal, random } from './tools';

function example(more: Partial<HeatmapState> = {}, missing = false): Example {
  const input = digit(7, 3);
  const next = random(11);
  const attribution = input.map((value, index) => {
    const row = Math.floor(index / 28);
    return value * (row < 14 ? 0.06 : -0.025) * (0.6 + next()) + normal(next) * 0.0015;
  });
  if (missing) {
    attribution.fill(Number.NaN, 0, 40);
  }
  const state: HeatmapState = {
    kind: 'heatmap',
    head: head('why 7?', { source: 'cell 12' }),
    height: 28,
    width: 28,
    channels: 1,
    input_buffer: 0,
    input_low: 0,
    input_high: 1,
    attribution_buffer: 1,
    row_dim: { name: 'H', size: 28 },
    column_dim: { name: 'W', size: 28 },
    method: 'IntegratedGradients',
    settings: [
      ['steps', '50'],
      ['baseline', 'zeros'],
      ['rule', 'gausslegendre']
    ],
    target: 'seven',
    predictions: [
      { label: 'seven', probability: 0.982 },
      { label: 'nine', probability: 0.0131 },
      { label: 'two', probability: 0.0036 },
      { label: 'three', probability: 0.0009 },
      { label: 'one', probability: 0.00004 }
    ],
    delta: 0.00021,
    tolerance: 0.01,
    seconds: 0.0482,
    sample: 3,
    samples: 64,
    ...more
  };
  return { state, buffers: [floats(input), floats(attribution)] };
}

function colour(): Example {
  const size = 96;
  const input = Float32Array.from({ length: size * size * 3 }, (_, index) => {
    const x = Math.floor(index / 3) % size;
    const y = Math.floor(index / 3 / size);
    return 0.5 + 0.5 * Math.sin((x + (index % 3) * 20) / 14) * Math.cos(y / 19);
  });
  const attribution = Float32Array.from(
    { length: size * size },
    (_, index) =>
      Math.exp(-(((index % size) - 40) ** 2 + (Math.floor(index / size) - 50) ** 2) / 300) -
      0.6 * Math.exp(-(((index % size) - 74) ** 2 + (Math.floor(index / size) - 30) ** 2) / 120)
  );
  const made = example({
    height: size,
    width: size,
    channels: 3,
    row_dim: { name: 'H', size },
    column_dim: { name: 'W', size },
    delta: null,
    tolerance: null,
    method: 'GradCam',
    settings: [['layer', 'features.1.conv']]
  });
  return { state: made.state, buffers: [floats(input), floats(attribution)] };
}

/** Example states of the heatmap view, by name. */
export const states: Record<string, () => Example> = {
  usual: () => example(),
  over: () => example({ delta: 0.23 }),
  wrong: () => example({ delta: 0.23 }, true),
  colour,
  hostile: () =>
    example({
      head: head(HOSTILE),
      target: HOSTILE,
      method: HOSTILE,
      settings: [[HOSTILE, HOSTILE]],
      predictions: [{ label: HOSTILE, probability: 0.5 }],
      row_dim: { name: HOSTILE, size: 28 }
    }),
  short: () => ({ state: example().state, buffers: [floats([1, 2, 3])] })
};
