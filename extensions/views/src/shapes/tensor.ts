/** One tensor in a cell: dims, type, statistics, a small picture, and sliders for what is not drawn. */
import type { Answer } from '../host';
import type { Picture as PictureState, SliceEvent, Slider, Statistics, TensorState } from '../protocol';
import { float32, StateError } from '../common/buffers';
import { h, replace, s, setText, type Child } from '../common/dom';
import type { Exports } from '../common/exporting';
import { Latest } from '../common/frame';
import { bytes, exact, figure, grouped, percent, si } from '../common/numbers';
import { button, chip, fillChips } from '../common/parts';
import { clamp } from '../common/scales';
import { RasterPane, type Pane } from './pane';
import { LinePane } from './plot';
import type { Act, Stage } from './stage';
import { hasFocus } from '../common/focus';

const MOST_VALUES = 1 << 26;

/** The path of a small histogram, `width` by `height` pixels; heights go by the square root, so that small bins show. */
export function sparkPath(counts: readonly number[], width: number, height: number): string {
  const most = Math.max(1, ...counts);
  const step = width / Math.max(1, counts.length);
  return counts
    .map((count, index) => {
      // A bin with anything in it is never invisible.
      const tall = count > 0 ? Math.max(1, Math.sqrt(count / most) * height) : 0;
      return tall > 0
        ? `M${(index * step).toFixed(2)} ${height}v${-tall.toFixed(2)}h${Math.max(0.5, step - 0.5).toFixed(2)}v${tall.toFixed(2)}z`
        : '';
    })
    .join('');
}

/** The picture of a `TensorState`. */
export class TensorPicture implements Act<TensorState> {
  readonly element: HTMLElement;
  private readonly dtype = h('span', { class: 'wb-tensor-dtype' });
  private readonly dims = h('span', { class: 'wb-chips', 'data-testid': 'wb-dims' });
  private readonly facts = h('span', { class: 'wb-tensor-facts', 'data-testid': 'wb-facts' });
  private readonly stats = h('div', { class: 'wb-stats', 'data-testid': 'wb-stats' });
  private readonly picture = h('div', { class: 'wb-picture', 'data-testid': 'wb-picture' });
  private readonly sliders = h('div', { class: 'wb-sliders' });
  /** One for each axis: a step of one slider may not take the place of another's. */
  private readonly senders = new Map<number, Latest<SliceEvent, Answer>>();
  private state: TensorState | null = null;
  private pane: Pane | null = null;
  private sliderKey = '';
  /** The entry that each slider shows, by axis. */
  private readonly shown = new Map<number, number>();
  private readonly held = new Map<number, SliceEvent>();

  constructor(private readonly stage: Stage) {
    const line = h(
      'div',
      { class: 'wb-tensor-line' },
      this.dtype,
      this.dims,
      h('span', { class: 'wb-spacer' }),
      this.facts
    );
    this.element = h('div', { class: 'wb-content' }, line, this.stats, this.picture, this.sliders);
  }

  accept(state: TensorState, buffers: readonly DataView[]): void {
    // First of all: what cannot be drawn leaves the picture that is there.
    const pane = state.picture ? this.makePane(state.picture, buffers) : null;
    this.pane?.destroy();
    this.pane = pane;
    this.state = state;
    setText(this.dtype, state.dtype);
    fillChips(this.dims, state.dims, this.stage.theme().dark);
    this.dims.title = state.dims.length === 0 ? 'a scalar: no dims' : '';
    this.writeFacts(state);
    this.writeStatistics(state.statistics);
    this.writePicture(state);
    this.writeSliders(state.picture?.sliders ?? []);
  }

  draw(): void {
    if (this.state) {
      fillChips(this.dims, this.state.dims, this.stage.theme().dark);
    }
    this.pane?.draw(this.stage.width(), this.stage.theme());
  }

  exports(): Exports {
    const state = this.state;
    return { ...this.pane?.exports(), json: () => state };
  }

  destroy(): void {
    this.pane?.destroy();
  }

  private makePane(picture: PictureState, buffers: readonly DataView[]): Pane | null {
    const count = picture.tiles * picture.height * picture.width * picture.channels;
    // Written so that what is no number is refused, too.
    if (!(count >= 0) || count > MOST_VALUES) {
      throw new StateError(`a picture of ${grouped(count)} values is larger than a view can show`);
    }
    const values = float32(buffers, picture.values_buffer, count, 'the picture').subarray(0, count);
    switch (picture.kind) {
      case 'images':
      case 'heatmap':
        return new RasterPane(picture, values, this.firstTile(picture), this.stage.redraw);
      case 'line':
        return new LinePane(picture, values, this.stage.redraw);
      case 'scalar':
        return new ScalarPane(values[0] ?? Number.NaN);
    }
  }

  private firstTile(picture: PictureState): number {
    return picture.sliders.find(slider => isTiled(slider, picture))?.index ?? 0;
  }

  private writeFacts(state: TensorState): void {
    const grad = state.requires_grad ? (state.leaf ? 'leaf, needs grad' : 'needs grad') : '';
    const parts = [
      `${si(state.count)} value${state.count === 1 ? '' : 's'}`,
      bytes(state.nbytes),
      state.device,
      grad
    ];
    setText(this.facts, parts.filter(Boolean).join(' · '));
    this.facts.title = `${grouped(state.count)} values, ${grouped(state.nbytes)} bytes`;
  }

  private writeStatistics(statistics: Statistics | null): void {
    if (!statistics) {
      replace(this.stats);
      return;
    }
    const { minimum, maximum, nan, inf } = statistics;
    const children: Child[] = [];
    if (minimum !== null && maximum !== null) {
      const hist = s('svg', {
        width: 132,
        height: 20,
        viewBox: '0 0 132 20',
        role: 'img',
        'aria-label': `histogram of the values ${statistics.apart ? 'but zeros ' : ''}from ${figure(minimum)} to ${figure(maximum)}`
      });
      hist.append(s('path', { d: sparkPath(statistics.counts, 132, 20) }));
      children.push(
        h(
          'span',
          { class: 'wb-tensor-hist' },
          h('span', { title: exact(minimum) }, figure(minimum)),
          hist,
          h('span', { title: exact(maximum) }, figure(maximum))
        )
      );
    }
    const item = (name: string, text: string, title: string, loud = false): HTMLElement =>
      h(
        'span',
        { class: 'wb-figure', title, 'data-figure': name },
        h('span', {}, name),
        loud ? h('b', { class: 'wb-loud' }, text) : text
      );
    const figures = [
      item('mean', figure(statistics.mean), exact(statistics.mean)),
      item('std', figure(statistics.std), exact(statistics.std)),
      item(
        'zeros',
        percent(statistics.zeros) + (statistics.apart ? ', not in the bars' : ''),
        exact(statistics.zeros)
      ),
      item('NaN', grouped(nan), exact(nan), nan > 0),
      item('inf', grouped(inf), exact(inf), inf > 0)
    ];
    children.push(h('span', { class: 'wb-figures' }, ...figures));
    if (nan + inf > 0) {
      children.push(
        button('show next', () => this.pane?.nextWrong(), {
          class: 'wb-button wb-nan-button',
          'data-testid': 'wb-next-nan'
        })
      );
    }
    if (statistics.sampled) {
      children.push(h('span', { class: 'wb-quiet' }, 'from a sample'));
    }
    replace(this.stats, ...children);
  }

  private writePicture(state: TensorState): void {
    if (this.pane) {
      replace(this.picture, this.pane.element);
    } else {
      replace(
        this.picture,
        h(
          'span',
          { class: 'wb-quiet' },
          state.count === 0 ? 'no values: a dim has size 0' : 'no picture of this tensor'
        )
      );
    }
  }

  private writeSliders(sliders: readonly Slider[]): void {
    const picture = this.state?.picture;
    const key = JSON.stringify(sliders.map(slider => [slider.axis, slider.dim])) + String(picture?.tiles);
    // A slider that is being moved has to stay the same element.
    if (key !== this.sliderKey) {
      this.sliderKey = key;
      replace(this.sliders, ...sliders.map(slider => this.sliderRow(slider)));
    }
    for (const slider of sliders) {
      this.showSlider(slider);
    }
  }

  private sliderRow(slider: Slider): HTMLElement {
    const tiled = isTiled(slider, this.state?.picture ?? null);
    const last = Math.max(0, slider.dim.size - (tiled ? (this.state?.picture?.tiles ?? 1) : 1));
    const name = slider.dim.name ?? `dim ${slider.axis}`;
    const range = h('input', {
      type: 'range',
      class: 'wb-range',
      min: 0,
      max: last,
      step: 1,
      'aria-label': `Which ${name} is shown`,
      'data-axis': slider.axis
    });
    const field = h('input', {
      type: 'number',
      class: 'wb-input',
      min: 0,
      max: last,
      step: 1,
      'aria-label': `Which ${name}, as a number`,
      'data-axis-field': slider.axis
    });
    const choose = (input: HTMLInputElement): void => {
      const index = Math.round(Number(input.value));
      if (input.value !== '' && Number.isFinite(index)) {
        this.slice(slider, clamp(index, 0, last));
      }
    };
    range.addEventListener('input', () => choose(range));
    field.addEventListener('input', () => choose(field));
    field.addEventListener('change', () => {
      choose(field);
      field.value = range.value;
    });
    return h(
      'div',
      { class: 'wb-slider' },
      chip(slider.dim, this.stage.theme().dark),
      range,
      field,
      h('span', { class: 'wb-quiet', 'data-shown': slider.axis })
    );
  }

  private slice(slider: Slider, index: number): void {
    if (this.shown.get(slider.axis) === index) {
      return;
    }
    const event: SliceEvent = { type: 'slice', axis: slider.axis, index };
    this.held.set(slider.axis, event);
    this.showSlider({ ...slider, index });
    void this.senderOf(slider.axis)
      .push(event)
      .then(() => {
        if (this.held.get(slider.axis) === event) {
          this.held.delete(slider.axis);
        }
      });
  }

  private senderOf(axis: number): Latest<SliceEvent, Answer> {
    let sender = this.senders.get(axis);
    if (!sender) {
      sender = new Latest(event => this.stage.send(event) as Promise<Answer | void>);
      this.senders.set(axis, sender);
    }
    return sender;
  }

  /** Shows where a slider stands; while a person moves it, incoming states do not move it back. */
  private showSlider(slider: Slider): void {
    const index = this.held.get(slider.axis)?.index ?? slider.index;
    this.shown.set(slider.axis, index);
    const range = this.sliders.querySelector<HTMLInputElement>(`input[data-axis="${slider.axis}"]`);
    const field = this.sliders.querySelector<HTMLInputElement>(`input[data-axis-field="${slider.axis}"]`);
    const shown = this.sliders.querySelector(`[data-shown="${slider.axis}"]`);
    const picture = this.state?.picture ?? null;
    const last = isTiled(slider, picture)
      ? Math.min(slider.dim.size, index + (picture?.tiles ?? 1)) - 1
      : index;
    if (range && field && shown) {
      range.value = String(index);
      // Not over what is being typed.
      if (!hasFocus(field)) {
        field.value = String(index);
      }
      setText(shown, last > index ? `${index}–${last}` : `of ${slider.dim.size}`);
      range.setAttribute('aria-valuetext', last > index ? `${index} to ${last}` : String(index));
    }
  }
}

function isTiled(slider: Slider, picture: PictureState | null): boolean {
  const dim = picture?.tile_dim;
  return !!dim && picture.tiles > 1 && dim.name === slider.dim.name && dim.size === slider.dim.size;
}

/** A tensor with one value: the value, large. */
class ScalarPane implements Pane {
  readonly element: HTMLElement;

  constructor(private readonly value: number) {
    this.element = h(
      'div',
      { class: 'wb-scalar', title: exact(value), 'data-testid': 'wb-scalar' },
      figure(value)
    );
    this.element.classList.toggle('wb-loud', !Number.isFinite(value));
  }

  draw(): void {}

  nextWrong(): void {}

  exports(): Exports {
    return { csv: () => `value\n${this.value}\n` };
  }

  destroy(): void {}
}
