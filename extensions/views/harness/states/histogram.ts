/** Example states of the histogram view. */
import type {
  Candidate,
  Channel,
  CurvePoint,
  HistogramState,
  ObserverDetail,
  ObserverRow
} from '../../src/protocol';
import type { Example } from './tools';
import { floats, head, histogram, HOSTILE, normal, random } from './tools';

const NAMES = [
  'input',
  'conv1.weight',
  'conv1.output',
  'bn1.output',
  'relu1.output',
  'conv2.weight',
  'conv2.output',
  'relu2.output',
  'pool.output',
  'fc1.weight',
  'fc1.output',
  'fc2.weight',
  'logits'
];

const RULES = [
  ['minmax', 'min-max'],
  ['moving_average', 'moving average'],
  ['percentile', '99.9 %'],
  ['l2', 'L2'],
  ['kl', 'KL'],
  ['mse', 'MSE']
];

/** 20 000 values of which a few lie far out. */
function sample(seed: number): Float32Array {
  const next = random(seed);
  return Float32Array.from(
    { length: 20000 },
    (_, index) => normal(next) * (index % 400 === 0 ? 3.2 : 1) + 0.3
  );
}

/** SQNR in dB when `values` are quantized to a range. */
function sqnr(values: Float32Array, low: number, high: number, steps: number): number {
  const scale = (high - low) / steps;
  let signal = 0;
  let noise = 0;
  for (let index = 0; index < values.length; index += 5) {
    const value = values[index]!;
    const level = Math.min(steps, Math.max(0, Math.round((value - low) / scale)));
    signal += value * value;
    noise += (value - (low + level * scale)) ** 2;
  }
  return 10 * Math.log10(signal / Math.max(noise, 1e-12));
}

function row(name: string, index: number): ObserverRow {
  const values = sample(index + 1);
  const counts = histogram(values, -3, 3, 24);
  const most = Math.max(...counts);
  return {
    id: name,
    name,
    dims: name.endsWith('weight') ? ['O', 'C', 'kh', 'kw'] : ['N', 'C', 'H', 'W'],
    dtype: 'f32',
    scheme: name.endsWith('weight') ? 'per channel · symmetric' : 'per tensor · affine',
    batches: 42,
    sqnr: 29 + ((index * 37) % 14),
    spark: counts.map(count => count / most),
    nan: 0,
    inf: 0,
    overridden: false,
    damage: 22 + ((index * 29) % 37)
  };
}

function makeDetail(
  values: Float32Array,
  bits: number,
  low: number,
  high: number,
  more: Partial<ObserverDetail> = {}
): ObserverDetail {
  const steps = 2 ** bits - 1;
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const curve: CurvePoint[] = Array.from({ length: 40 }, (_, index) => {
    const width = 0.15 + (index / 39) * 0.95;
    return {
      width,
      low: least * width,
      high: most * width,
      sqnr: sqnr(values, least * width, most * width, steps)
    };
  });
  const candidate = (name: string, width: number): Candidate => ({
    name,
    low: least * width,
    high: most * width,
    sqnr: sqnr(values, least * width, most * width, steps)
  });
  const best = curve.reduce((a, b) => (a.sqnr! > b.sqnr! ? a : b));
  const channels: Channel[] = Array.from({ length: 32 }, (_, index) => ({
    index,
    low: index === 17 ? least : -1.2 - Math.sin(index) * 0.7,
    high: index === 17 ? most : 1.9 + Math.cos(index * 1.7) * 0.8,
    outlier: index === 17
  }));
  const scale = (high - low) / steps;
  return {
    id: 'conv2.output',
    bits,
    quant_min: 0,
    quant_max: steps,
    observed_low: least,
    observed_high: most,
    counts_buffer: 0,
    bins: 512,
    low,
    high,
    scale,
    zero_point: Math.round(-low / scale),
    clip_low: values.filter(value => value < low).length / values.length,
    clip_high: values.filter(value => value > high).length / values.length,
    sqnr: sqnr(values, low, high, steps),
    candidates: [
      candidate('min-max', 1),
      candidate('99.9 %', 0.52),
      candidate('L2', best.width),
      candidate('KL', 0.44),
      { name: 'yours', low, high, sqnr: sqnr(values, low, high, steps) }
    ],
    curve,
    channel_dim: 'C',
    channels,
    settings: { rule: 'l2', rules: RULES, symmetric: false, bits, per_channel: false, weight: false },
    values: null,
    ...more
  };
}

function usual(
  more: Partial<HistogramState> = {},
  detailMore: Partial<ObserverDetail> = {},
  bits = 8
): Example {
  const values = sample(7);
  const detail = makeDetail(values, bits, -3.1, 4.2, detailMore);
  const state: HistogramState = {
    kind: 'histogram',
    head: head('SmallNet observers', { source: 'cell 9', live: true }),
    observers: NAMES.map(row).map(each =>
      each.id === 'conv2.output' ? { ...each, overridden: true, sqnr: detail.sqnr } : each
    ),
    selected: 'conv2.output',
    detail,
    model: { sqnr: 31.2, accuracy: 0.989, float_accuracy: 0.99, samples: null, held: 512 },
    undo: 2,
    redo: 0,
    change: 'clipping 0.3 % more bought 1.7 dB',
    refusal: null,
    comparison: null,
    show_values: false,
    no_values: '',
    no_detail: '',
    ...more
  };
  return { state, buffers: [floats(histogram(values, detail.observed_low, detail.observed_high, 512))] };
}

function wrong(): Example {
  const example = usual({
    refusal: {
      request: 'set_range',
      reason: 'the low end 2.1 is not below the high end 1.3; move one of them past the other'
    }
  });
  const state = example.state as HistogramState;
  const observers = state.observers.map(each =>
    each.id === 'conv2.output' ? { ...each, nan: 12, inf: 3 } : each
  );
  return { ...example, state: { ...state, observers } };
}

function hostile(): Example {
  const example = usual();
  const state = example.state as HistogramState;
  const observers = state.observers.map(each => ({ ...each, name: each.name + HOSTILE, scheme: HOSTILE }));
  const detail = {
    ...state.detail!,
    channel_dim: HOSTILE,
    candidates: state.detail!.candidates.map(each => ({ ...each, name: each.name + HOSTILE }))
  };
  return {
    ...example,
    state: {
      ...state,
      head: head(HOSTILE),
      observers,
      detail,
      change: HOSTILE,
      refusal: { request: HOSTILE, reason: HOSTILE }
    }
  };
}

/** Two sides, and values before and after quantization with four bits. */
function compared(): Example {
  const example = usual(
    {
      comparison: {
        active: 'B',
        a: { sqnr: 31.2, accuracy: 0.989, float_accuracy: 0.99, samples: null, held: 512 },
        b: { sqnr: 22.4, accuracy: 0.981, float_accuracy: 0.99, samples: null, held: 512 },
        differences: [
          {
            id: 'conv2.output',
            a: 'L2 · affine · 8 bit · per tensor',
            b: 'KL · affine · 4 bit · per tensor · -3.1 to 4.2 by hand',
            a_sqnr: 38.4,
            b_sqnr: 16.3
          },
          {
            id: 'fc1.weight',
            a: 'min-max · symmetric · 8 bit · per channel',
            b: 'L2 · symmetric · 6 bit · per tensor',
            a_sqnr: 42.1,
            b_sqnr: 30.9
          }
        ]
      },
      show_values: true
    },
    {},
    4
  );
  const state = example.state as HistogramState;
  const values = sample(7);
  const { low, high, scale } = state.detail!;
  const integer = values.map(value => Math.min(high, Math.max(low, Math.round(value / scale) * scale)));
  const counted = (of: Float32Array): DataView => floats(histogram(of, -5, 5, 256));
  return {
    buffers: [...example.buffers, counted(values), counted(integer)],
    state: {
      ...state,
      detail: {
        ...state.detail!,
        values: {
          low: -5,
          high: 5,
          bins: 256,
          float_buffer: 1,
          integer_buffer: 2,
          sqnr: 15.8,
          worst: 1.92,
          shift: -0.0021
        }
      }
    }
  };
}

/** Example states of the histogram view, by name. */
export const states: Record<string, () => Example> = {
  usual: () => usual(),
  four: () => usual({}, {}, 4),
  compared,
  fixed: () => usual({}, { settings: null }),
  weight: () =>
    usual(
      {},
      {
        settings: { rule: 'minmax', rules: RULES, symmetric: true, bits: 8, per_channel: true, weight: true }
      }
    ),
  wrong,
  hostile,
  one: () => {
    const example = usual();
    const state = example.state as HistogramState;
    return {
      ...example,
      state: { ...state, observers: state.observers.filter(each => each.id === 'conv2.output') }
    };
  },
  nothing: () => usual({ observers: [], detail: null, selected: null }),
  unseen: () =>
    usual({
      detail: null,
      no_detail: 'This observer has seen no values yet: run a batch through the prepared model.'
    }),
  broken: () =>
    usual({
      detail: null,
      no_detail:
        'This observer has seen no finite value in 3 batches, only 1,536 NaN, and there is no range around those.'
    }),
  huge: () => {
    const kinds = NAMES.map(row);
    const observers = Array.from({ length: 2000 }, (_, index) => ({
      ...kinds[index % 13]!,
      id: index === 6 ? 'conv2.output' : `layer${index}`,
      name: `layers.${index}.${NAMES[index % 13]}`
    }));
    return usual({ observers });
  }
};
