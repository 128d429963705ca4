/** Example states of the runs view. */
import type { RunsChart, RunsLine, RunsState, RunsTable } from '../../src/protocol';
import type { Example } from './tools';
import { digit, floats, head, histogram, HOSTILE, normal, random } from './tools';

/** A moment that is the same in every run. */
const BEGAN = 1_795_700_000;
const NAMES = [
  'baseline',
  'lr 0.01',
  'wide/lr 0.003',
  'wide/lr 0.001 dropout',
  'deep',
  'deep/warmup',
  'small',
  'tiny'
];

function doubles(rows: readonly (readonly number[])[]): DataView {
  return new DataView(Float64Array.from(rows.flat()).buffer);
}

interface Made {
  readonly run: number;
  readonly steps: readonly number[];
  readonly values: readonly number[];
  readonly pace?: number;
  readonly length?: number;
}

function line({ run, steps, values, pace = 2, length = 1 }: Made, buffers: DataView[]): RunsLine {
  const time = (at: number): number => BEGAN + run * 1800 + at * pace;
  const ends: number[] = [];
  const means: number[] = [];
  const counts: number[] = [];
  for (let start = 0; start < values.length; start += length) {
    const stretch = values.slice(start, start + length).filter(value => !Number.isNaN(value));
    ends.push(Math.min(values.length, start + length) - 1);
    means.push(stretch.length > 0 ? stretch.reduce((a, b) => a + b, 0) / stretch.length : Number.NaN);
    counts.push(Math.min(length, values.length - start));
  }
  buffers.push(doubles([steps, values, steps.map((_, at) => time(at))]));
  buffers.push(doubles([ends.map(end => steps[end]!), means, counts, ends.map(time)]));
  return {
    run,
    points: steps.length,
    points_buffer: buffers.length - 2,
    stretches: ends.length,
    means_buffer: buffers.length - 1,
    missing: values.filter(Number.isNaN).length,
    of: steps.length,
    step: steps.at(-1) ?? 0
  };
}

function state(more: Partial<RunsState>, runs: readonly string[] = NAMES.slice(0, 3)): RunsState {
  return {
    kind: 'runs',
    head: head('runs/digits', { live: true, code: "wb.widgets.runs('runs/digits')", source: '' }),
    runs: runs.map(name => ({ name, shown: true, values: 1200, last: 399 })),
    runs_left_out: 0,
    pages: [
      { page: 'scalars', cards: 4 },
      { page: 'histograms', cards: 2 },
      { page: 'images', cards: 3 },
      { page: 'texts', cards: 2 },
      { page: 'curves', cards: 1 },
      { page: 'table', cards: 8 }
    ],
    page: 'scalars',
    pattern: '',
    first: 0,
    most: 12,
    charts: [],
    distributions: [],
    pictures: [],
    texts: [],
    table: null,
    step: null,
    last_step: 399,
    problems: [],
    ...more
  };
}

interface Wish {
  readonly tags?: readonly string[];
  readonly runs?: readonly string[];
  readonly count?: number;
  readonly length?: number;
  readonly spoil?: (value: number, at: number, run: number) => number;
}

function scalars(more: Partial<RunsState> = {}, wish: Wish = {}): Example {
  const { tags = ['loss/train', 'loss/validation', 'accuracy/train', 'accuracy/validation'] } = wish;
  const { runs = NAMES.slice(0, 3), count = 400, length = 1, spoil = (value: number) => value } = wish;
  const buffers: DataView[] = [];
  const charts = tags.map((tag, which): RunsChart => {
    const lines = runs.map((_, run) => {
      const next = random(which * 97 + run);
      const points = Math.max(1, Math.round(count * (run === 1 ? 0.7 : 1)));
      const steps = Array.from({ length: points }, (_, at) => at * length);
      const values = steps.map((step, at) => {
        const share = at / count;
        const falling = tag.includes('loss');
        const base = falling
          ? 0.08 + 2.2 * Math.exp(-4 * share * (1 + 0.2 * run))
          : 0.5 + (0.46 - 0.02 * run) * (1 - Math.exp(-5 * share));
        void step;
        return spoil(base * Math.exp((falling ? 0.14 : 0.02) * normal(next)), at, run);
      });
      return line({ run, steps, values, pace: 2 + run, length: 1 }, buffers);
    });
    return { tag, lines };
  });
  return { state: state({ charts, ...more }, runs), buffers };
}

function ridges(more: Partial<RunsState> = {}, count = 24): Example {
  const buffers: DataView[] = [];
  const distributions = ['parameters/conv1/weight', 'parameters/fc/weight'].flatMap((tag, which) =>
    [0, 1].map(run => {
      const next = random(which * 5 + run);
      const steps = Array.from({ length: count }, (_, at) => at * 40);
      const counts = steps.flatMap((_, at) => {
        const values = Array.from(
          { length: 1500 },
          () => normal(next) * (0.4 + at / count) + (which * at) / count
        );
        return histogram(values, -4, 4, 48);
      });
      buffers.push(floats(counts));
      return {
        tag,
        run,
        steps,
        of: count === 24 ? 300 : count,
        low: -4,
        high: 4,
        bins: 48,
        counts_buffer: buffers.length - 1
      };
    })
  );
  return { state: state({ page: 'histograms', distributions, ...more }), buffers };
}

function pictures(): Example {
  const buffers: DataView[] = [];
  const made = [0, 1, 2].map(run => {
    const grey = digit(run + 3, run);
    buffers.push(new DataView(Uint8Array.from(grey, value => Math.round(value * 255)).buffer));
    return {
      tag: 'samples/digit', run, step: 390, position: 39, of: 40, height: 28, width: 28, channels: 1,
      pixels_buffer: buffers.length - 1, full_height: 28, full_width: 28, trouble: ''
    }; // prettier-ignore
  });
  const colours = Uint8Array.from({ length: 120 * 200 * 3 }, (_, at) => (at * 7) % 256);
  buffers.push(new DataView(colours.buffer));
  const figure = {
    ...made[0]!, tag: 'figures/confusion', height: 120, width: 200, channels: 3, pixels_buffer: buffers.length - 1,
    full_height: 480, full_width: 800, of: 1, position: 0
  }; // prettier-ignore
  const broken = {
    ...made[1]!,
    tag: 'figures/broken',
    height: 0,
    width: 0,
    trouble: 'cannot identify image file'
  };
  return { state: state({ page: 'images', pictures: [figure, broken, ...made] }), buffers };
}

function texts(): Example {
  const words = '| layer | size |\n|---|---|\n| conv1 | 16 |\n\nTrained with **warmup**; ' + HOSTILE;
  return {
    state: state({
      page: 'texts',
      texts: [
        { tag: 'notes', run: 0, step: 0, position: 0, of: 1, text: words, left_out: 0 },
        {
          tag: 'samples/generated',
          run: 2,
          step: 380,
          position: 3,
          of: 12,
          text: 'Once upon a time '.repeat(60),
          left_out: 12_000
        }
      ]
    }),
    buffers: []
  };
}

function recall(): Example {
  const buffers: DataView[] = [];
  const lines = [0, 1, 2].map(run => {
    const across = Array.from({ length: 100 }, (_, at) => at / 99);
    const up = across.map(one => 1 - (0.3 + 0.1 * run) * one ** 4 - 0.02 * run);
    buffers.push(doubles([across, up, across.map(one => 1 - one)]), doubles([]));
    return {
      run, points: 100, points_buffer: buffers.length - 2, stretches: 0, means_buffer: buffers.length - 1, missing: 0,
      of: 100, step: 390
    }; // prettier-ignore
  });
  return { state: state({ page: 'curves', charts: [{ tag: 'digit 7', lines }] }), buffers };
}

function table(count: number, names = NAMES): Example {
  const next = random(11);
  const rates = [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003];
  const columns: RunsTable['columns'] = [
    { name: 'learning rate', kind: 'setting', numbers: true },
    { name: 'width', kind: 'setting', numbers: true },
    { name: 'optimizer', kind: 'setting', numbers: false },
    { name: 'dropout', kind: 'setting', numbers: false },
    { name: 'accuracy/validation', kind: 'metric', numbers: true },
    { name: 'loss/validation', kind: 'metric', numbers: true }
  ];
  const rows = Array.from({ length: count }, (_, run) => {
    const rate = rates[run % 6]!;
    const width = [16, 32, 64, 128][Math.floor(next() * 4)]!;
    const good = 0.98 - 0.05 * Math.abs(Math.log10(rate) + 2) + width / 10_000 - 0.02 * next();
    const loss = run === 2 ? 'NaN' : (1 - good) * (2 + next());
    return {
      run,
      runs: [run],
      cells: [
        rate,
        width,
        ['SGD', 'Adam', 'AdamW'][run % 3]!,
        run % 2 ? 'true' : 'false',
        good,
        run === 5 ? null : loss
      ]
    };
  });
  const all = Array.from({ length: count }, (_, run) => names[run] ?? `trial-${run}`);
  return { state: state({ page: 'table', table: { columns, rows, left_out: 0 } }, all), buffers: [] };
}

const THIRTY = Array.from({ length: 30 }, (_, run) => `sweep/trial-${run}`);
const TAGS = Array.from(
  { length: 12 },
  (_, at) => `layer${Math.floor(at / 4)}/${at % 2 ? 'accuracy' : 'loss'}-${at}`
);

export const states = {
  usual: () => scalars(),
  ended: () => scalars({ head: head('runs/digits', { updated: Date.now() / 1000 - 4000 }) }),
  nan: () => scalars({}, { spoil: (value, at, run) => (run === 0 && at % 60 < 6 ? Number.NaN : value) }),
  'all-nan': () => scalars({}, { spoil: () => Number.NaN }),
  one: () => scalars({}, { count: 1, runs: ['only'] }),
  none: () => scalars({ runs: [], pages: [{ page: 'scalars', cards: 0 }], charts: [] }, { tags: [] }),
  unmatched: () =>
    scalars({ pattern: 'nothing like it', pages: [{ page: 'scalars', cards: 0 }] }, { tags: [] }),
  damaged: () =>
    scalars({
      problems: [
        'runs/digits/events.out.tfevents.17, byte 4711 of 9000: this record takes 40 bytes more and the file has 12 left'
      ]
    }),
  huge: () =>
    scalars(
      {
        pages: [
          { page: 'scalars', cards: 200 },
          { page: 'histograms', cards: 1400 }
        ]
      },
      { tags: TAGS, runs: THIRTY, count: 128, length: 40 }
    ),
  histograms: () => ridges(),
  'one-histogram': () => ridges({}, 1),
  images: pictures,
  texts,
  curves: recall,
  table: () => table(8),
  'many-trials': () => table(60, THIRTY),
  'one-trial': () => table(1),
  short: () => ({ ...scalars(), buffers: [doubles([[1], [2], [3]])] }),
  hostile: () =>
    scalars(
      { head: head(HOSTILE, { source: HOSTILE }), problems: [HOSTILE], pattern: HOSTILE },
      {
        tags: [HOSTILE, `folder/${HOSTILE}`],
        runs: [HOSTILE, 'b']
      }
    )
} satisfies Record<string, () => Example>;
