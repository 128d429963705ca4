import type { Answer, Host, Mount, MountOptions } from '../host';
import type { ClassScore, HeatmapState, HeatmapViewEvent, SampleEvent } from '../protocol';
import { float32, StateError } from '../common/buffers';
import type { MapName } from '../common/colours';
import { h, replace, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { Latest } from '../common/frame';
import { duration, exact, figure, grouped, percent } from '../common/numbers';
import { button, chip, figureItem, Segments, select } from '../common/parts';
import { Picture } from '../common/picture';
import { gradient } from '../common/raster';
import { clamp } from '../common/scales';
import { HeatCanvases } from './canvas';
import { HEATMAP_CSS } from './css';
import { mapFor, type Sign, type Tone } from './tone';

const MOST_CELLS = 1 << 24;
const MOST_SCORES = 5;

class HeatmapView extends Picture<HeatmapState, HeatmapViewEvent> {
  private readonly canvases = new HeatCanvases(() => this.frame.request());
  private readonly target = h('div', { class: 'wb-heat-target', 'data-testid': 'wb-target' });
  private readonly scores = h('div', { class: 'wb-heat-scores', 'data-testid': 'wb-scores' });
  private readonly settings = h('div', { class: 'wb-heat-settings', 'data-testid': 'wb-settings' });
  private readonly verdict = h('div', {
    class: 'wb-heat-verdict',
    'data-testid': 'wb-verdict',
    role: 'status'
  });
  private readonly readout = h('div', {
    class: 'wb-readout',
    'aria-live': 'polite',
    'data-testid': 'wb-readout'
  });
  private readonly axes = h('span', { class: 'wb-chips' });
  private readonly scaleBar = h('i');
  private readonly scaleEnds = h('span');
  private readonly blendText = h('output');
  private readonly percentText = h('output');
  private readonly sampleField = h('input', {
    type: 'number',
    class: 'wb-input',
    min: 0,
    'aria-label': 'Sample',
    'data-testid': 'wb-sample'
  });
  private readonly sampleCount = h('span', { class: 'wb-quiet' });
  private readonly previous = button('◂', () => this.step(-1), {
    'aria-label': 'Previous sample',
    'data-testid': 'wb-previous'
  });
  private readonly next = button('▸', () => this.step(1), {
    'aria-label': 'Next sample',
    'data-testid': 'wb-next'
  });
  private readonly sender: Latest<SampleEvent, Answer>;
  private readonly mapChoice: HTMLSelectElement;
  private readonly page: HTMLElement;
  private tone: Tone = { sign: 'all', map: 'viridis', blend: 0.75, percentile: 99 };
  private wanted: number | null = null;

  constructor(root: HTMLElement, host: Host<HeatmapViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'heatmap',
      css: HEATMAP_CSS,
      emptySentence: 'What a model looks at will be drawn here, over its input. To ask it:',
      emptyCode: 'wb.widgets.attribution(wb.attribution.explain(model, images))'
    };
    super(root, host, identity, options);
    this.sender = new Latest(event => this.send(event));
    const controls = this.controls();
    this.mapChoice = controls.map;
    this.page = h(
      'div',
      { style: 'display: contents' },
      h('div', { class: 'wb-heat-top' }, this.target, this.scores),
      this.pictures(),
      this.readout,
      controls.element,
      this.settings,
      this.verdict
    );
    this.sampleField.addEventListener('change', () => this.goTo(Math.round(Number(this.sampleField.value))));
  }

  protected accept(state: HeatmapState, buffers: readonly DataView[]): void {
    if (state.kind !== 'heatmap') {
      throw new StateError(`the heatmap view knows no state of the kind “${String(state.kind)}”`);
    }
    const cells = state.height * state.width;
    if (!(cells > 0) || cells * state.channels > MOST_CELLS) {
      throw new StateError(`an input of ${grouped(cells)} cells cannot be drawn`);
    }
    const values = float32(buffers, state.input_buffer, cells * state.channels, 'the input');
    const attribution = float32(buffers, state.attribution_buffer, cells, 'the attribution').subarray(
      0,
      cells
    );
    this.canvases.accept(state, values, attribution);
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    if (this.wanted === state.sample) {
      this.wanted = null;
    }
    this.writeTop(state);
    this.writeSettings(state);
    this.writeVerdict(state, attribution);
    this.writeSample(state);
  }

  protected draw(): void {
    const { state, theme } = this;
    if (!state) {
      return;
    }
    const width = this.width;
    // One above the other they must not be so large that a sidebar shows only one of them.
    const room = width >= 460 ? (width - 16 - 60) / 2 : Math.min(width - 62, 230);
    const side = clamp(room, 80, 308);
    this.canvases.draw(this.tone, side, theme);
    replace(this.axes, chip(state.row_dim, theme.dark), chip(state.column_dim, theme.dark));
    this.writeScale();
    this.writeReadout(state);
  }

  protected exports(): Exports {
    const { state } = this;
    if (!state) {
      return {};
    }
    const rows = (): (string | number)[][] => {
      const cells = Array.from({ length: state.height * state.width }, (_, at) => ({
        row: Math.floor(at / state.width),
        column: at % state.width
      }));
      return cells.map(cell => {
        const { attribution, input } = this.canvases.read(cell);
        return [cell.row, cell.column, String(attribution), ...input.map(String)];
      });
    };
    const inputs = Array.from({ length: state.channels }, (_, channel) => `input ${channel}`);
    return {
      canvas: () => this.canvases.both(),
      caption: () => [
        this.target.textContent ?? '',
        this.settings.textContent ?? '',
        this.verdict.textContent ?? ''
      ],
      csv: () =>
        csv([
          [state.row_dim.name ?? 'row', state.column_dim.name ?? 'column', 'attribution', ...inputs],
          ...rows()
        ]),
      json: () => state
    };
  }

  override destroy(): void {
    this.canvases.destroy();
    super.destroy();
  }

  private pictures(): HTMLElement {
    const scale = h(
      'div',
      { class: 'wb-heat-scale', 'data-testid': 'wb-heat-scale' },
      this.scaleBar,
      this.scaleEnds
    );
    return h(
      'div',
      { class: 'wb-heat-pair' },
      h('figure', {}, h('figcaption', {}, 'input', this.axes), this.canvases.input),
      h(
        'figure',
        {},
        h('figcaption', {}, 'attribution'),
        h('div', { class: 'wb-heat-with-scale' }, this.canvases.heat, scale)
      )
    );
  }

  private controls(): { readonly element: HTMLElement; readonly map: HTMLSelectElement } {
    const set = (change: Partial<Tone>): void => {
      this.tone = { ...this.tone, ...change };
      this.writeTone();
      this.frame.request();
    };
    const sign = new Segments<Sign>(
      'Sign',
      [
        ['all', 'all'],
        ['positive', 'positive'],
        ['negative', 'negative'],
        ['absolute', 'absolute']
      ],
      this.tone.sign,
      value => set({ sign: value }),
      'wb-sign'
    );
    const slider = (
      label: string,
      low: number,
      high: number,
      value: number,
      output: HTMLElement,
      changed: (value: number) => void
    ): HTMLElement => {
      const input = h('input', {
        type: 'range',
        class: 'wb-range',
        min: low,
        max: high,
        step: 1,
        value,
        'aria-label': label,
        'data-testid': `wb-${label}`
      });
      input.addEventListener('input', () => changed(Number(input.value)));
      return h('label', { class: 'wb-field' }, label, input, output);
    };
    const map = select<MapName>(
      'map',
      [
        ['viridis', 'viridis'],
        ['grey', 'grey']
      ],
      'viridis',
      value => set({ map: value }),
      'wb-map'
    );
    const element = h(
      'div',
      { class: 'wb-heat-controls' },
      sign.element,
      slider('blend', 0, 100, this.tone.blend * 100, this.blendText, value => set({ blend: value / 100 })),
      slider('percentile', 50, 100, this.tone.percentile, this.percentText, value =>
        set({ percentile: value })
      ),
      map.element
    );
    // Later: what it writes to is set once this has returned.
    queueMicrotask(() => this.writeTone());
    return { element, map: map.input };
  }

  private writeTone(): void {
    setText(this.blendText, `${Math.round(this.tone.blend * 100)} %`);
    setText(this.percentText, `${this.tone.percentile} %`);
    this.mapChoice.disabled = this.tone.sign === 'all';
    this.mapChoice.title =
      this.tone.sign === 'all' ? 'With both signs the map is blue to orange, with zero at its middle' : '';
  }

  private writeTop(state: HeatmapState): void {
    const best = state.predictions[0];
    const stepper = h(
      'span',
      { class: 'wb-heat-stepper' },
      'sample',
      this.previous,
      this.sampleField,
      this.next,
      this.sampleCount
    );
    // The stepper is put in anew, which takes the focus from its field.
    const focused = document.activeElement;
    replace(
      this.target,
      h('div', {}, 'target ', h('b', {}, state.target)),
      best ? h('div', {}, 'predicted ', h('b', {}, best.label), ` with ${percent(best.probability)}`) : null,
      state.samples > 1 ? stepper : null
    );
    if (focused instanceof HTMLElement && this.target.contains(focused)) {
      focused.focus();
    }
    const row = (score: ClassScore): Node[] => {
      const target = score.label === state.target;
      const fill = h('i', { 'data-target': target });
      fill.style.width = `${clamp(score.probability * 100, 0, 100)}%`;
      return [
        h('span', { title: score.label, 'data-target': target }, score.label),
        h('span', { class: 'wb-heat-bar', 'aria-hidden': 'true' }, fill),
        h(
          'span',
          { class: 'wb-heat-probability', title: exact(score.probability) },
          percent(score.probability)
        )
      ];
    };
    replace(this.scores, ...state.predictions.slice(0, MOST_SCORES).flatMap(row));
  }

  private writeSettings(state: HeatmapState): void {
    const pairs = state.settings.map(([name, value]) =>
      h('span', { class: 'wb-figure' }, h('span', {}, name ?? ''), value ?? '')
    );
    replace(this.settings, h('b', {}, state.method), ...pairs);
  }

  /** Delta and time are always there; a delta over its tolerance says so, and why that matters. */
  private writeVerdict(state: HeatmapState, attribution: Float32Array): void {
    const { delta, tolerance } = state;
    const missing = attribution.reduce((count, value) => count + (Number.isNaN(value) ? 1 : 0), 0);
    const over = delta !== null && tolerance !== null && Math.abs(delta) > tolerance;
    const parts: Node[] = [
      delta === null
        ? h(
            'span',
            { class: 'wb-figure', 'data-figure': 'delta', title: 'this method promises no sum' },
            h('span', {}, 'delta'),
            'none'
          )
        : figureItem('delta', figure(delta), delta, { 'data-figure': 'delta' }),
      ...(tolerance === null ? [] : [figureItem('tolerance', figure(tolerance), tolerance)]),
      figureItem('time', duration(state.seconds), state.seconds, { 'data-figure': 'time' })
    ];
    if (missing > 0) {
      parts.push(h('b', { class: 'wb-loud' }, `${grouped(missing)} cells have no attribution`));
    }
    if (over) {
      parts.push(
        h(
          'span',
          {},
          `The attributions do not add up to what the model’s output changed by: off by ${figure(Math.abs(delta))}, more than ${figure(tolerance)}. More steps would bring it down.`
        )
      );
    }
    this.verdict.toggleAttribute('data-over', over);
    replace(this.verdict, ...parts);
  }

  private writeSample(state: HeatmapState): void {
    const sample = this.wanted ?? state.sample;
    if (document.activeElement !== this.sampleField) {
      this.sampleField.value = String(sample);
    }
    this.sampleField.max = String(state.samples - 1);
    setText(this.sampleCount, `of ${grouped(state.samples)}`);
    this.previous.disabled = sample <= 0;
    this.next.disabled = sample >= state.samples - 1;
  }

  private writeScale(): void {
    const { tone, theme } = this;
    const { reach } = this.canvases;
    this.scaleBar.style.background = gradient(mapFor(tone), 'to top', theme.dark, theme.paper);
    const high = tone.sign === 'negative' ? `−${figure(reach)}` : figure(reach);
    const low = tone.sign === 'all' ? `−${figure(reach)}` : '0';
    replace(
      this.scaleEnds,
      h('span', {}, high),
      tone.sign === 'all' ? h('span', {}, '0') : null,
      h('span', {}, low)
    );
  }

  private writeReadout(state: HeatmapState): void {
    const { cursor } = this.canvases;
    if (!cursor) {
      replace(this.readout, 'Point at a cell, or move with the arrow keys, to read its value.');
      return;
    }
    const { attribution, input } = this.canvases.read(cursor);
    const place = `${state.row_dim.name ?? 'row'} ${cursor.row} · ${state.column_dim.name ?? 'column'} ${cursor.column}`;
    const sign = attribution > 0 ? '+' : '';
    replace(
      this.readout,
      `${place}   attribution `,
      h('b', { title: exact(attribution) }, sign + figure(attribution)),
      '   input ',
      h('b', { title: input.map(exact).join(', ') }, input.map(figure).join(', '))
    );
  }

  private step(by: number): void {
    if (this.state) {
      this.goTo((this.wanted ?? this.state.sample) + by);
    }
  }

  private goTo(index: number): void {
    const { state } = this;
    if (!state || !Number.isFinite(index)) {
      return;
    }
    const sample = clamp(index, 0, state.samples - 1);
    this.wanted = sample;
    this.writeSample(state);
    this.sampleField.value = String(sample);
    void this.sender.push({ type: 'sample', index: sample }).then(answer => {
      // By now another one may be wanted.
      if (this.wanted === sample) {
        this.wanted = null;
      }
      if (answer && !answer.accepted) {
        if (answer.reason) {
          this.wrong.say(`Refused: ${answer.reason}`);
        }
        if (this.state) {
          this.writeSample(this.state);
        }
      }
    });
  }
}

/** The heatmap view: an attribution over its input. */
export const mountHeatmap: Mount<HeatmapState, HeatmapViewEvent> = (root, host, options) =>
  new HeatmapView(root, host, options);
