/** Example states of the training view. */
import type { TrainingCurve, TrainingState, TrainingStrip } from '../../src/protocol';
import type { Example } from './tools';
import { head, HOSTILE, normal, random } from './tools';

function doubles(values: readonly number[]): DataView {
  return new DataView(Float64Array.from(values).buffer);
}

interface Made {
  readonly name: string;
  readonly kind: TrainingCurve['kind'];
  readonly part?: TrainingCurve['part'];
  readonly steps: readonly number[];
  readonly values: readonly number[];
  /** Steps in a stretch; 0 for a value an epoch. */
  readonly length: number;
}

/** What Python sends of a long list: least, greatest and mean of each stretch. */
function curve(
  { name, kind, part = 'train', steps, values, length }: Made,
  buffers: DataView[]
): TrainingCurve {
  const places = new Set<number>();
  const ends: number[] = [];
  const means: number[] = [];
  const counts: number[] = [];
  for (let start = 0; start < values.length; start += Math.max(1, length)) {
    const stretch = values.slice(start, start + Math.max(1, length));
    places.add(start + stretch.indexOf(Math.min(...stretch)));
    places.add(start + stretch.indexOf(Math.max(...stretch)));
    if (length > 0) {
      ends.push(steps[start + stretch.length - 1]!);
      means.push(stretch.reduce((sum, value) => sum + value, 0) / stretch.length);
      counts.push(stretch.length);
    }
  }
  const shown = [...places].sort((a, b) => a - b);
  buffers.push(doubles([...shown.map(place => steps[place]!), ...shown.map(place => values[place]!)]));
  buffers.push(doubles([...ends, ...means, ...counts]));
  return {
    name,
    kind,
    part,
    points: shown.length,
    points_buffer: buffers.length - 2,
    stretches: ends.length,
    means_buffer: buffers.length - 1,
    missing: 0
  };
}

function strip(
  name: TrainingStrip['name'],
  layers: readonly string[],
  steps: readonly number[],
  value: (layer: number, step: number) => number,
  buffers: DataView[]
): TrainingStrip {
  const values = layers.flatMap((_, layer) => steps.map(step => value(layer, step)));
  buffers.push(new DataView(Float32Array.from(values).buffer));
  return { name, layers, left_out: 0, steps, values_buffer: buffers.length - 1 };
}

const WEIGHTS = ['conv1', 'conv2', 'conv3', 'block.0.conv', 'block.0.norm', 'block.1.conv', 'fc1', 'fc2'];
const RELUS = ['relu1', 'relu2', 'relu3', 'block.0.relu', 'block.1.relu', 'fc1_relu'];

interface Wish {
  /** Steps taken, of `planned`. */
  readonly taken?: number;
  readonly planned?: number;
  readonly perEpoch?: number;
  readonly layers?: readonly string[];
  /** Steps in a stretch. */
  readonly length?: number;
  readonly columns?: number;
}

function training(more: Partial<TrainingState> = {}, wish: Wish = {}): Example {
  const { taken = 412, planned = 1000, perEpoch = 100, layers = WEIGHTS, length = 1, columns = 90 } = wish;
  const next = random(5);
  const buffers: DataView[] = [];
  const steps = Array.from({ length: taken }, (_, index) => index + 1);
  const base = (step: number): number => 0.08 + 2.2 * Math.exp((-3.4 * step) / planned) ** 1.6;
  const spiked = Math.round(taken * 0.68);
  const loss = steps.map(step => {
    const fallen = step === spiked ? 6.4 : step > spiked && step < spiked + 4 ? 1.6 : 1;
    return base(step) * fallen * Math.exp(0.22 * normal(next));
  });
  const rate = steps.map(
    step =>
      0.05 * (step < planned / 20 ? (step * 20) / planned : 0.5 + 0.5 * Math.cos((Math.PI * step) / planned))
  );
  const norm = steps.map((_, index) => (0.4 + loss[index]! * 1.3) * Math.exp(0.3 * normal(next)));
  const speed = steps.map(step => (step % perEpoch === 1 ? 700 : 1240) + 60 * normal(next));
  const ends = steps.filter(step => step % perEpoch === 0);
  const epochly = (from: number, gain: number): number[] =>
    ends.map(step => from + gain * (1 - Math.exp((-3.2 * step) / planned)) + 0.006 * normal(next));
  const each = { steps, length };
  const whole = { steps: ends, length: 0 };
  const curves = [
    curve({ name: 'loss', kind: 'loss', values: loss, ...each }, buffers),
    curve({ name: 'learning rate', kind: 'rate', values: rate, ...each }, buffers),
    curve({ name: 'gradient norm', kind: 'norm', values: norm, ...each }, buffers),
    curve({ name: 'throughput', kind: 'throughput', values: speed, ...each }, buffers),
    curve({ name: 'accuracy', kind: 'metric', values: epochly(0.55, 0.42), ...whole }, buffers),
    curve(
      {
        name: 'loss',
        kind: 'loss',
        part: 'validation',
        values: ends.map(step => base(step) * 1.22 + 0.06),
        ...whole
      },
      buffers
    ),
    curve(
      { name: 'accuracy', kind: 'metric', part: 'validation', values: epochly(0.52, 0.4), ...whole },
      buffers
    )
  ];
  const looks = Array.from(
    { length: Math.min(columns, taken) },
    (_, index) => 1 + Math.floor((index * taken) / columns)
  );
  const relus = layers === WEIGHTS ? RELUS : layers;
  const strips = [
    strip(
      'update / weight',
      layers,
      looks,
      (layer, step) => 10 ** (-2.1 - 0.2 * (layer % 5) - step / planned + 0.12 * normal(next)),
      buffers
    ),
    strip(
      'gradient norm',
      layers,
      looks,
      (layer, step) => (3 / (1 + layer)) * base(step) * Math.exp(0.25 * normal(next)),
      buffers
    ),
    strip(
      'dead units',
      relus,
      looks,
      (layer, step) => Math.min(1, (layer % 6 === 3 ? 0.75 : 0.12) * Math.min(1, step / 200) + 0.03 * next()),
      buffers
    )
  ];
  const state: TrainingState = {
    kind: 'training',
    head: head('digits', { source: 'cell 7', live: true, code: 'wb.widgets.training(trainer)' }),
    status: 'running',
    asked: '',
    message: '',
    failure: null,
    counters: {
      epoch: Math.floor(taken / perEpoch),
      epochs: planned / perEpoch,
      step: taken,
      steps: planned,
      batch: taken % perEpoch,
      batches: perEpoch,
      samples: (taken % perEpoch) * 64,
      skipped: 0,
      seconds: taken * 0.052,
      seconds_left: (planned - taken) * 0.052,
      rate: speed.at(-1) ?? null
    },
    curves,
    strips,
    spikes: [{ step: spiked, value: loss[spiked - 1]!, usual: base(spiked) }],
    epochs: ends.map(step => ({ epoch: step / perEpoch, step })),
    others: [],
    advice: '',
    ...more
  };
  return { state, buffers };
}

const ADVICE = 'trainer.fit(loader, validation, epochs=10, resume=True)';

function ended(more: Partial<TrainingState>, wish: Wish = {}): Example {
  return training(
    { head: head('digits', { source: 'cell 7', code: 'wb.widgets.training(trainer)' }), ...more },
    wish
  );
}

function none(more: Partial<TrainingState>): Example {
  const made = training(more, { taken: 3 });
  const counters = {
    ...(made.state as TrainingState).counters,
    epoch: 0,
    epochs: null,
    step: 0,
    steps: null,
    batch: 0
  };
  const nothing = { curves: [], strips: [], spikes: [], epochs: [] };
  return {
    state: {
      ...(made.state as TrainingState),
      counters: { ...counters, rate: null, seconds: 0 },
      ...nothing
    },
    buffers: []
  };
}

/** Example states of the training view, by name. */
export const states: Record<string, () => Example> = {
  usual: () => training(),
  pausing: () => training({ asked: 'pause' }),
  paused: () => training({ status: 'paused' }),
  stopping: () => training({ asked: 'stop' }),
  stopped: () => ended({ status: 'stopped', advice: ADVICE }),
  early: () =>
    ended({ status: 'stopped', message: 'val_loss has not improved for 3 epochs', advice: ADVICE }),
  finished: () => ended({ status: 'finished' }, { taken: 1000 }),
  wrong: () =>
    ended({
      status: 'failed',
      message:
        'the loss is nan at step 413 (epoch 5 of 10): training stopped, and this step changed no parameter. The first module that gave such values is fc1: its output has 640 NaN among 640 values. The batch is kept as error.batch and trainer.last_batch.',
      failure: { kind: 'TrainingError', step: 413, culprit: 'fc1' },
      advice: ADVICE
    }),
  idle: () =>
    none({
      status: 'idle',
      head: head('digits', { source: 'cell 7' }),
      advice: 'trainer.fit(loader, validation, epochs=5)'
    }),
  started: () => none({ status: 'running' }),
  first: () => training({ spikes: [] }, { taken: 1 }),
  huge: () => {
    const layers = Array.from({ length: 200 }, (_, index) => `encoder.layers.${index}.attention.out_proj`);
    // 512 stretches of 40: as a million steps travel, in proportion.
    return training({}, { taken: 20480, planned: 24000, perEpoch: 240, length: 40, layers, columns: 120 });
  },
  many: () => {
    // Sixty metrics, with names as programs make them.
    const made = training();
    const state = made.state as TrainingState;
    const one = state.curves.filter(curve => curve.kind === 'metric');
    const names = Array.from(
      { length: 60 },
      (_, index) =>
        `validation_suite_${index}.mean_average_precision_at_iou_0.${50 + (index % 10) * 5}_of_small_objects`
    );
    const metrics = names.flatMap(name => one.map(curve => ({ ...curve, name })));
    return {
      state: { ...state, curves: [...state.curves.filter(curve => curve.kind !== 'metric'), ...metrics] },
      buffers: made.buffers
    };
  },
  deep: () => {
    const layers = Array.from(
      { length: 200 },
      (_, index) =>
        `model.backbone.encoder.stages.${index >> 4}.blocks.${index}.attention_with_relative_positions.out_proj`
    );
    const made = training({}, { layers });
    const state = made.state as TrainingState;
    return {
      state: { ...state, strips: state.strips.map(one => ({ ...one, left_out: 100 })) },
      buffers: made.buffers
    };
  },
  strange: () => {
    // A loss below zero, a metric that is not finite in the middle, a rate of zero.
    const made = training({ spikes: [] });
    const state = made.state as TrainingState;
    const buffers = [...made.buffers];
    const change = (name: string, part: string, how: (value: number, index: number) => number): void => {
      const curve = state.curves.find(each => each.name === name && each.part === part)!;
      const pairs = new Float64Array(buffers[curve.points_buffer]!.buffer.slice(0));
      for (let index = 0; index < curve.points; index++) {
        pairs[curve.points + index] = how(pairs[curve.points + index]!, index);
      }
      buffers[curve.points_buffer] = new DataView(pairs.buffer);
      const means = new Float64Array(buffers[curve.means_buffer]!.buffer.slice(0));
      for (let index = 0; index < curve.stretches; index++) {
        means[curve.stretches + index] = how(means[curve.stretches + index]!, index);
      }
      buffers[curve.means_buffer] = new DataView(means.buffer);
    };
    change('loss', 'train', value => value - 1);
    change('loss', 'validation', value => value - 1);
    change('accuracy', 'validation', (value, index) => (index === 1 ? Number.NaN : value));
    change('gradient norm', 'train', (value, index) => (index > 200 && index < 240 ? Number.NaN : value));
    change('learning rate', 'train', () => 0);
    const missing = { accuracy: 1, 'gradient norm': 39 } as Record<string, number>;
    const curves = state.curves.map(each => ({ ...each, missing: missing[each.name] ?? 0 }));
    return { state: { ...state, curves }, buffers };
  },
  compared: () => {
    const made = training();
    const state = made.state as TrainingState;
    const buffers = [...made.buffers];
    const others = ['lr 0.1', 'lr 0.01, with a name that goes on and on'].map((name, run) => {
      const other = training({}, { taken: 300 + 250 * run, planned: 1000 + 700 * run });
      const start = buffers.length;
      buffers.push(...other.buffers);
      const moved = (other.state as TrainingState).curves.map(each => ({
        ...each,
        points_buffer: each.points_buffer + start,
        means_buffer: each.means_buffer + start
      }));
      return { name, curves: moved };
    });
    return { state: { ...state, others }, buffers };
  },
  hostile: () => {
    const made = training({
      head: head(HOSTILE),
      status: 'failed',
      message: HOSTILE,
      failure: { kind: HOSTILE, step: 300, culprit: HOSTILE },
      advice: HOSTILE,
      others: [{ name: HOSTILE, curves: [] }]
    });
    const state = made.state as TrainingState;
    const renamed = {
      curves: state.curves.map(one => (one.kind === 'metric' ? { ...one, name: HOSTILE } : one)),
      strips: state.strips.map(one => ({ ...one, layers: one.layers.map(() => HOSTILE) }))
    };
    return { state: { ...state, ...renamed }, buffers: made.buffers };
  },
  short: () => ({ state: training().state, buffers: training().buffers.slice(0, 3) })
};
