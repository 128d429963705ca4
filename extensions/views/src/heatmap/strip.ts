/** All samples in a row, the wrongly predicted ones marked; a click shows one. */
import type { HeatmapState, HeatmapStrip, StripSample } from '../protocol';
import { uint8 } from '../common/buffers';
import { h, replace, setText } from '../common/dom';
import { grouped } from '../common/numbers';
import { button } from '../common/parts';
import { bitmap } from '../common/raster';
import { hasFocus } from '../common/focus';

/** The stepper and the strip. */
export class SampleStrip {
  private readonly field = h('input', {
    type: 'number',
    class: 'wb-input',
    min: 0,
    'aria-label': 'Sample',
    'data-testid': 'wb-sample'
  });
  private readonly count = h('span', { class: 'wb-quiet' });
  private readonly previous = button('◂', () => this.step(-1), {
    'aria-label': 'Previous sample',
    'data-testid': 'wb-previous'
  });
  private readonly next = button('▸', () => this.step(1), {
    'aria-label': 'Next sample',
    'data-testid': 'wb-next'
  });
  private readonly wrong = button('next wrong ▸', () => this.toWrong(), { 'data-testid': 'wb-next-wrong' });
  private readonly wrongCount = h('span', { class: 'wb-quiet', 'data-testid': 'wb-wrong-count' });
  private readonly samples = h('div', {
    class: 'wb-heat-samples',
    role: 'group',
    'aria-label': 'Samples',
    'data-testid': 'wb-strip'
  });
  readonly element = h(
    'div',
    { class: 'wb-heat-strip' },
    h(
      'span',
      { class: 'wb-heat-stepper' },
      'sample',
      this.previous,
      this.field,
      this.next,
      this.count,
      this.wrongCount,
      this.wrong
    ),
    this.samples
  );
  private state: HeatmapState | null = null;
  private wanted: number | null = null;
  private drawn = '';
  private buttons: HTMLButtonElement[] = [];

  constructor(private readonly show: (index: number) => Promise<boolean>) {
    this.field.addEventListener('change', () => this.goTo(Math.round(Number(this.field.value))));
  }

  update(state: HeatmapState, buffers: readonly DataView[]): void {
    this.state = state;
    if (this.wanted === state.sample) {
      this.wanted = null;
    }
    this.element.hidden = state.samples < 2;
    this.draw(state.strip, buffers);
    this.write();
  }

  private draw(strip: HeatmapStrip | null, buffers: readonly DataView[]): void {
    const key = JSON.stringify(strip && [strip.samples, strip.height, strip.width]);
    this.samples.hidden = strip === null;
    if (key === this.drawn || strip === null) {
      return;
    }
    this.drawn = key;
    const { height, width, channels, buffer, samples } = strip;
    const size = height * width * channels;
    const pixels = buffer === null ? null : uint8(buffers, buffer, size * samples.length, 'the strip');
    this.buttons = samples.map((sample, at) => {
      const picture = pixels && thumbnail(pixels.subarray(at * size, (at + 1) * size), strip);
      return this.sample(sample, picture);
    });
    replace(this.samples, ...this.buttons);
  }

  private sample(sample: StripSample, picture: HTMLCanvasElement | null): HTMLButtonElement {
    const words = [
      `sample ${sample.index}`,
      sample.predicted ? `predicted ${sample.predicted}` : '',
      sample.truth ? `true ${sample.truth}` : ''
    ].filter(Boolean);
    const label = words.join(', ') + (sample.wrong ? ': wrong' : '');
    const made = h(
      'button',
      {
        type: 'button',
        class: 'wb-heat-sample',
        'data-sample': sample.index,
        'data-wrong': sample.wrong,
        'aria-label': label,
        title: label
      },
      picture ?? h('span', {}, String(sample.index)),
      sample.wrong ? h('span', { class: 'wb-heat-cross', 'aria-hidden': 'true' }, '✕') : null
    );
    made.addEventListener('click', () => this.goTo(sample.index));
    return made;
  }

  private write(): void {
    const { state } = this;
    if (!state) {
      return;
    }
    const sample = this.wanted ?? state.sample;
    if (!hasFocus(this.field)) {
      this.field.value = String(sample);
    }
    this.field.max = String(state.samples - 1);
    setText(this.count, `of ${grouped(state.samples)}`);
    this.previous.disabled = sample <= 0;
    this.next.disabled = sample >= state.samples - 1;
    const wrong = state.strip?.wrong ?? 0;
    setText(this.wrongCount, wrong > 0 ? `· ${grouped(wrong)} wrong` : '');
    this.wrong.hidden = !state.strip?.samples.some(one => one.wrong);
    // A mean is of no sample alone.
    const alone = this.wanted !== null || state.averaged === 0;
    const averaged = new Set(alone ? [] : state.averaged_samples.map(String));
    for (const one of this.buttons) {
      const index = one.dataset['sample'] ?? '';
      one.setAttribute('aria-pressed', String(alone && index === String(sample)));
      one.toggleAttribute('data-averaged', averaged.has(index));
      one.setAttribute('aria-label', one.title + (averaged.has(index) ? ', one of those averaged' : ''));
    }
  }

  private step(by: number): void {
    if (this.state) {
      this.goTo((this.wanted ?? this.state.sample) + by);
    }
  }

  private toWrong(): void {
    const wrong = (this.state?.strip?.samples ?? []).filter(one => one.wrong).map(one => one.index);
    const at = this.wanted ?? this.state?.sample ?? 0;
    const next = wrong.find(index => index > at) ?? wrong[0];
    if (next !== undefined) {
      this.goTo(next);
    }
  }

  private goTo(index: number): void {
    const { state } = this;
    if (!state || !Number.isFinite(index)) {
      return;
    }
    const sample = Math.min(state.samples - 1, Math.max(0, index));
    this.wanted = sample;
    this.write();
    this.field.value = String(sample);
    void this.show(sample).then(accepted => {
      // By now another one may be wanted.
      if (this.wanted === sample && !accepted) {
        this.wanted = null;
        this.write();
      }
    });
  }
}

function thumbnail(
  values: Uint8Array,
  { height, width, channels }: { readonly height: number; readonly width: number; readonly channels: number }
): HTMLCanvasElement {
  const image = new ImageData(width, height);
  for (let cell = 0; cell < height * width; cell++) {
    for (let part = 0; part < 3; part++) {
      image.data[cell * 4 + part] = values[cell * channels + (channels === 3 ? part : 0)]!;
    }
    image.data[cell * 4 + 3] = 255;
  }
  return bitmap(image);
}
