/** One attribution over its input, with what can be asked of it. */
import type { Answer } from '../host';
import type { HeatmapPart, HeatmapState, HeatmapViewEvent, SampleEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { Latest } from '../common/frame';
import { exact, figure, grouped } from '../common/numbers';
import { button } from '../common/parts';
import { gradient } from '../common/raster';
import { WorkLine } from '../common/work';
import { asking, Choices } from './ask';
import { CanvasPart } from './canvas';
import { decodePart, Reaches, type PartData, type PartPicture, type Sight } from './part';
import { SeriesPart } from './series';
import type { Act, Stage } from './stage';
import { SampleStrip } from './strip';
import { TokensPart } from './tokens';
import { mapFor } from './tone';
import { ToneBar } from './tonebar';
import { Top } from './top';
import { Verdict } from './verdict';
import { workOf } from './work';

const MOST_CELLS = 1 << 24;
/** More lines than this are drawn as a picture. */
const MOST_LINES = 12;
const HINT = 'Point at a cell, or move with the arrow keys, to read its value.';
const TEXT_HINT = 'Point at a word, or move with the arrow keys, to read its value.';

/** The picture of an attribution. */
export class AttributionPicture implements Act<HeatmapState> {
  readonly element: HTMLElement;
  private readonly top = new Top(target => void this.ask(asking(target)));
  private readonly choices = new Choices(event => void this.ask(event));
  private readonly work = new WorkLine(() => void this.ask({ type: 'stop' }));
  private readonly tones = new ToneBar(() => this.stage.redraw());
  private readonly strip: SampleStrip;
  private readonly verdict = new Verdict();
  private readonly refusal = h('div', {
    class: 'wb-notice',
    'data-kind': 'wrong',
    role: 'alert',
    'data-testid': 'wb-refusal',
    hidden: true
  });
  private readonly pictures = h('div', { class: 'wb-heat-parts' });
  private readonly readout = h('div', {
    class: 'wb-readout',
    'aria-live': 'polite',
    'data-testid': 'wb-readout'
  });
  private readonly scaleBar = h('i');
  private readonly scaleEnds = h('span');
  private readonly back: HTMLElement;
  private readonly sender: Latest<SampleEvent, Answer>;
  private state: HeatmapState | null = null;
  private data: PartData[] = [];
  private parts: PartPicture[] = [];
  private forms = '';
  private reaches = new Reaches([]);
  private refused = '';

  constructor(private readonly stage: Stage) {
    this.sender = new Latest(event => this.ask(event));
    this.strip = new SampleStrip(async index => {
      const answer = await this.sender.push({ type: 'sample', index });
      return !answer || answer.accepted;
    });
    this.back = h(
      'div',
      { hidden: true },
      button('◂ Back to the board', () => void this.ask({ type: 'open_row', method: null }), {
        'data-testid': 'wb-back'
      })
    );
    const scale = h(
      'div',
      { class: 'wb-heat-scale', 'data-testid': 'wb-heat-scale' },
      this.scaleBar,
      this.scaleEnds
    );
    this.element = h(
      'div',
      { class: 'wb-heat-page' },
      this.back,
      this.top.element,
      this.choices.element,
      this.work.element,
      this.refusal,
      h('div', { class: 'wb-heat-with-scale' }, this.pictures, scale),
      this.readout,
      this.tones.element,
      this.verdict.element,
      this.strip.element
    );
  }

  accept(state: HeatmapState, buffers: readonly DataView[]): void {
    const cells = state.parts.reduce(
      (sum, one) => sum + one.height * one.width * Math.max(1, one.channels),
      0
    );
    if (!(cells > 0) || cells > MOST_CELLS) {
      throw new StateError(`an input of ${grouped(cells)} cells cannot be drawn`);
    }
    const names = { first: state.controls?.model ?? 'model', other: state.other?.name ?? null };
    this.data = state.parts.map(part => decodePart(part, buffers, names));
    this.state = state;
    this.reaches = new Reaches(this.data);
    this.place(state.parts);
    this.data.forEach((one, at) => this.parts[at]!.accept(one));
    this.back.hidden = !state.board;
    this.top.update(state);
    this.choices.update(state);
    this.work.update(state.work && workOf(state.work));
    this.strip.update(state, buffers);
    this.verdict.update(state, this.data);
    this.writeRefusal();
    const waits = state.parts.every(part => part.attribution_buffer === null);
    this.element.toggleAttribute('data-waits', waits);
    this.element.toggleAttribute('data-alone', state.controls === null);
  }

  draw(): void {
    const { state } = this;
    if (!state) {
      return;
    }
    const theme = this.stage.theme();
    const { tone } = this.tones;
    const reach = this.reaches.at(tone.sign, tone.percentile);
    const sight: Sight = { tone, reach, theme, width: this.stage.width() };
    this.parts.forEach(part => part.draw(sight));
    this.writeScale(sight);
    this.writeReadout(state);
  }

  exports(): Exports {
    const { state } = this;
    if (!state) {
      return {};
    }
    return {
      canvas: () => joined(this.parts.flatMap(part => part.canvases())),
      caption: () => [this.top.summary, this.choices.summary(state), this.verdict.summary],
      csv: () => csv(this.data.flatMap(table)),
      json: () => state
    };
  }

  destroy(): void {
    this.parts.forEach(part => part.destroy());
  }

  /** Makes a picture for each input, again only where their forms are others. */
  private place(parts: readonly HeatmapPart[]): void {
    const forms = parts.map(part =>
      part.form === 'series' && part.height > MOST_LINES ? 'picture' : part.form
    );
    if (this.forms === forms.join()) {
      return;
    }
    this.forms = forms.join();
    this.destroy();
    const moved = (): void => this.stage.redraw();
    this.parts = forms.map(form =>
      form === 'tokens'
        ? new TokensPart(moved)
        : form === 'series'
          ? new SeriesPart(moved)
          : new CanvasPart(moved)
    );
    replace(this.pictures, ...this.parts.map(part => part.element));
  }

  private async ask(event: HeatmapViewEvent): Promise<Answer | void> {
    this.refused = '';
    const answer = await this.stage.send(event);
    this.refused = answer && !answer.accepted ? answer.reason : '';
    this.writeRefusal();
    return answer;
  }

  /** Says once why something was refused: Python keeps most reasons, but of what never reached its model. */
  private writeRefusal(): void {
    const reason = this.state?.refusal?.reason || this.refused;
    replace(this.refusal, reason && h('span', { 'aria-hidden': 'true' }, '✕'), h('span', {}, reason));
    this.refusal.hidden = reason === '';
  }

  private writeScale({ tone, reach, theme }: Sight): void {
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
    const at = this.parts.findIndex(part => part.cursor !== null);
    const cell = this.parts[at]?.cursor;
    const data = this.data[at];
    if (!cell || !data) {
      replace(this.readout, state.parts.some(part => part.form === 'tokens') ? TEXT_HINT : HINT);
      return;
    }
    const { part, values, maps } = data;
    const index = cell.row * part.width + cell.column;
    const input = Array.from(values.subarray(index * part.channels, (index + 1) * part.channels));
    const places = [
      part.form === 'tokens' ? `“${part.tokens[cell.column] || '·'}”` : null,
      part.height > 1 || part.form === 'picture' ? `${part.row_dim.name ?? 'row'} ${cell.row}` : null,
      `${part.column_dim.name ?? 'column'} ${cell.column}`
    ].filter(one => one !== null);
    const found = maps.flatMap(map => {
      const value = map.values[index]!;
      return [`   ${map.name} `, h('b', { title: exact(value) }, (value > 0 ? '+' : '') + figure(value))];
    });
    const shown = part.form === 'tokens' ? [] : input;
    replace(
      this.readout,
      `${part.name ? `${part.name}: ` : ''}${places.join(' · ')}`,
      ...found,
      shown.length > 0 ? '   input ' : null,
      shown.length > 0 ? h('b', { title: shown.map(exact).join(', ') }, shown.map(figure).join(', ')) : null
    );
  }
}

/** Canvases side by side. */
function joined(parts: readonly HTMLCanvasElement[]): HTMLCanvasElement {
  const canvas = h('canvas', {
    width: parts.reduce((sum, one) => sum + one.width + 16, -16),
    height: Math.max(1, ...parts.map(one => one.height))
  });
  const context = canvas.getContext('2d');
  let x = 0;
  for (const one of parts) {
    context?.drawImage(one, x, 0);
    x += one.width + 16;
  }
  return canvas;
}

/** A part as rows of a table, with its names on top. */
function table({ part, values, maps }: PartData): (string | number)[][] {
  const inputs = Array.from({ length: part.channels }, (_, channel) => `input ${channel}`);
  const head = [
    part.row_dim.name ?? 'row',
    part.column_dim.name ?? 'column',
    ...(part.form === 'tokens' ? ['token'] : []),
    ...maps.map(map => map.name),
    ...inputs
  ];
  const rows = Array.from({ length: part.height * part.width }, (_, at) => [
    Math.floor(at / part.width),
    at % part.width,
    ...(part.form === 'tokens' ? [part.tokens[at % part.width] ?? ''] : []),
    ...maps.map(map => String(map.values[at])),
    ...Array.from(values.subarray(at * part.channels, (at + 1) * part.channels), String)
  ]);
  return [part.name ? [part.name, ...head.slice(1)] : head, ...rows];
}
