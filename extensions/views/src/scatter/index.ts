import type { Host, Mount, MountOptions } from '../host';
import type { ScatterState, ScatterViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { categoryColour, hex, rgb } from '../common/colours';
import { h, replace, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { reducedMotion } from '../common/frame';
import { grouped, percent } from '../common/numbers';
import { button, Notice, Segments } from '../common/parts';
import { Picture } from '../common/picture';
import { fitCanvas } from '../common/raster';
import { parseColour } from '../common/theme';
import {
  between,
  pointRadius,
  project,
  projection,
  startCamera,
  type Camera,
  type Projection
} from './camera';
import { checksum, makeRenderer, sameNumbers } from './choose';
import {
  HIDDEN,
  nameOf,
  pick,
  pickBox,
  readCloud,
  searchPoints,
  stylePoints,
  thumbnail,
  type Cloud
} from './cloud';
import { SCATTER_CSS } from './css';
import { Gestures, type PixelBox } from './gestures';
import { drawOverlay } from './overlay';
import type { Renderer } from './renderer';
import { Side } from './side';
import { watchContext } from './webgl';

/** The most points that one gesture selects; the view says so when it leaves some out. */
const MOST_SELECTED = 5000;
const TURN_MILLISECONDS = 150;

class ScatterView extends Picture<ScatterState, ScatterViewEvent> {
  private readonly canvas = h('canvas', { 'data-testid': 'wb-points' });
  private readonly field: HTMLElement;
  private readonly side: Side;
  private readonly gestures: Gestures;
  private readonly facts = h('span', { 'data-testid': 'wb-facts' });
  private readonly note = h('span', { class: 'wb-quiet', 'data-testid': 'wb-renderer-note' });
  private readonly live = h('div', { class: 'wb-hidden', 'aria-live': 'polite' });
  private readonly refusal = new Notice('wrong', 'wb-refusal', () => this.refusal.say(''));
  private readonly space: Segments<'2' | '3'>;
  private readonly shape: Segments<'dots' | 'pictures'>;
  private readonly labelsButton: HTMLButtonElement;
  private readonly page: HTMLElement;
  private renderer: Renderer | null = null;
  private cloud: Cloud | null = null;
  private styles: Uint8Array = new Uint8Array();
  private camera: Camera = startCamera(3);
  private turn: { readonly from: Camera; readonly to: Camera; readonly start: number } | null = null;
  private hidden: ReadonlySet<number> = new Set();
  private found: ReadonlySet<number> = new Set();
  private selected: readonly number[] = [];
  private waiting = false;
  private pointed: number | null = null;
  private pointer: readonly [number, number] | null = null;
  private box: PixelBox | null = null;
  private labels = true;
  private restyle = true;
  private looked = false;
  private bytes = '';

  constructor(root: HTMLElement, host: Host<ScatterViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'scatter',
      css: SCATTER_CSS,
      emptySentence: 'Embeddings will be drawn here as points. To project some:',
      emptyCode: 'wb.widgets.scatter(wb.embedding.Embedding(activations, labels))'
    };
    super(root, host, identity, options);
    this.field = h(
      'div',
      {
        class: 'wb-cloud',
        tabindex: 0,
        role: 'application',
        'aria-label':
          'Point cloud: drag or arrow keys turn, plus and minus zoom, comma and full stop walk through points, Enter selects, slash searches',
        'data-testid': 'wb-cloud'
      },
      this.canvas
    );
    this.side = new Side({
      search: (text, commit) => this.search(text, commit),
      filter: hidden => this.filter(hidden),
      choose: point => this.choose([point]),
      clear: () => this.choose([]),
      metric: metric => void this.send({ type: 'set_metric', metric }),
      point: point => this.pointAt(point)
    });
    this.space = new Segments(
      'Dimensions',
      [
        ['2', '2-D'],
        ['3', '3-D']
      ],
      '3',
      value => this.turnTo(value),
      'wb-space'
    );
    this.shape = new Segments(
      'Draw points as',
      [
        ['dots', 'dots'],
        ['pictures', 'pictures']
      ],
      'dots',
      () => this.frame.request(),
      'wb-shape'
    );
    this.labelsButton = button('labels', () => this.toggleLabels(), {
      'aria-pressed': 'true',
      'data-testid': 'wb-labels'
    });
    const reset = button('reset', () => this.reset(), {
      'aria-label': 'Reset the view',
      'data-testid': 'wb-reset-view'
    });
    const bar = h(
      'div',
      { class: 'wb-bar' },
      this.facts,
      this.note,
      h('span', { class: 'wb-spacer' }),
      this.space.element,
      this.shape.element,
      this.labelsButton,
      reset
    );
    this.page = h('div', { class: 'wb-projector' }, this.field, this.side.element, bar, this.live);
    this.gestures = new Gestures(this.field, {
      camera: () => this.camera,
      moveCamera: camera => this.moveCamera(camera),
      hover: (x, y) => this.hover(x, y),
      leave: () => this.leave(),
      pick: (x, y, add) => this.pickAt(x, y, add),
      box: (box, done, add) => this.boxed(box, done, add),
      key: key => this.key(key)
    });
    this.wrong.element.after(this.refusal.element);
    this.chooseRenderer();
    if (this.renderer?.kind === 'webgl') {
      this.listeners.add(watchContext(() => this.chooseRenderer()));
    }
    this.listeners.on(this.element, 'keydown', event => {
      if (event.key === '/' && !(event.target instanceof HTMLInputElement)) {
        event.preventDefault();
        event.stopPropagation();
        this.side.field.focus();
      }
    });
    this.listeners.add(
      host.onSelect?.(selection => {
        if (selection.from !== 'scatter' && selection.points) {
          this.choose([...selection.points], false);
        }
      })
    );
  }

  protected accept(state: ScatterState, buffers: readonly DataView[]): void {
    if (state.kind !== 'scatter') {
      throw new StateError(`the scatter view knows no state of the kind “${String(state.kind)}”`);
    }
    this.takeCloud(state, buffers);
    const cloud = this.cloud!;
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    if (!this.waiting || sameNumbers(state.selected, this.selected)) {
      this.waiting = false;
      this.selected = state.selected.filter(point => point < state.count);
    }
    this.restyle = true;
    this.writeFacts(state, cloud);
    this.refusal.say(state.refusal ? `Refused: ${state.refusal.reason}` : '');
    this.side.update(state, cloud, this.selected, this.theme.dark);
  }

  protected draw(): void {
    const { cloud, renderer, state } = this;
    const width = this.field.clientWidth;
    const height = this.field.clientHeight;
    if (!cloud || !renderer || !state || width < 2 || height < 2) {
      return;
    }
    this.stepTurn();
    if (this.restyle) {
      this.restyle = false;
      this.refreshStyles(state, cloud, renderer);
    }
    const context = fitCanvas(this.canvas, width, height);
    const ratio = this.canvas.width / width;
    const at = projection(this.camera, width, height);
    const radius = pointRadius(cloud.count, this.camera);
    const pictures = this.shape.value === 'pictures' && renderer.canDrawPictures;
    context.imageSmoothingEnabled = true;
    renderer.draw(context, {
      projection: at,
      width,
      height,
      ratio,
      radius,
      pictures,
      fog: 0.5 * (1 - this.camera.flat),
      paper: this.theme.paper
    });
    const colours = cloud.names.map((_, index) => categoryColour(index, this.theme.dark));
    const near =
      sameNumbers(state.selected, this.selected) && this.selected.length === 1
        ? state.neighbours.map(each => each.index)
        : [];
    const labels =
      this.labels && cloud.categories !== null && this.selected.length === 0 && this.found.size === 0;
    drawOverlay(
      context,
      {
        cloud,
        styles: this.styles,
        projection: at,
        radius: pictures ? radius * 3 : radius,
        selected: this.selected,
        near,
        pointed: this.pointed,
        hidden: this.hidden,
        labels,
        box: this.box,
        colours
      },
      this.theme
    );
    this.showCard(at);
  }

  protected exports(): Exports {
    const { cloud, state } = this;
    if (!cloud || !state) {
      return {};
    }
    const rows = (): (string | number)[][] =>
      Array.from({ length: cloud.count }, (_, point) => [
        point,
        ...Array.from(cloud.positions.subarray(point * 3, point * 3 + state.dims), String),
        nameOf(cloud, point)
      ]);
    return {
      canvas: () => this.flatPicture(),
      caption: () => [this.facts.textContent ?? ''],
      csv: () =>
        csv([['index', ...['x', 'y', 'z'].slice(0, state.dims), state.label_name || 'label'], ...rows()]),
      json: () => state
    };
  }

  protected override themeChanged(): void {
    this.restyle = true;
    if (this.state && this.cloud) {
      this.side.update(this.state, this.cloud, this.selected, this.theme.dark);
    }
  }

  override destroy(): void {
    this.gestures.destroy();
    this.renderer?.destroy();
    this.renderer = null;
    super.destroy();
  }

  /** Decodes the points, unless they are the very ones that are drawn already. */
  private takeCloud(state: ScatterState, buffers: readonly DataView[]): void {
    const key = JSON.stringify([
      state.method,
      state.count,
      state.dims,
      state.categories,
      state.sprite,
      buffers.map(buffer => checksum(buffer))
    ]);
    if (key === this.bytes && this.cloud) {
      return;
    }
    const first = this.cloud === null;
    const dimsBefore = this.state?.dims;
    this.cloud = readCloud(state, buffers);
    this.bytes = key;
    this.renderer?.setCloud(this.cloud);
    this.pointed = null;
    this.found = new Set();
    if (first || dimsBefore !== state.dims || !this.looked) {
      this.camera = startCamera(state.dims);
      this.turn = null;
    }
    this.space.set(this.camera.flat > 0.5 ? '2' : '3');
    this.space.element.style.display = state.dims === 3 ? '' : 'none';
    this.shape.element.style.display = state.sprite ? '' : 'none';
  }

  private chooseRenderer(): void {
    this.renderer?.destroy();
    const [renderer, why] = makeRenderer(this.options.renderer ?? 'auto');
    this.renderer = renderer;
    this.element.dataset['renderer'] = renderer.kind;
    setText(this.note, why);
    if (this.cloud) {
      this.renderer.setCloud(this.cloud);
    }
    this.restyle = true;
    this.frame.request();
  }

  private refreshStyles(state: ScatterState, cloud: Cloud, renderer: Renderer): void {
    const near =
      this.selected.length === 1 && state.selected[0] === this.selected[0]
        ? state.neighbours.map(each => each.index)
        : [];
    const bright = this.selected.length > 0 ? new Set([...this.selected, ...near]) : this.found;
    const accent = parseColour(this.theme.accent);
    const plain = accent ? hex(accent) : '#1976d2';
    this.styles = stylePoints(cloud, { hidden: this.hidden, bright }, this.theme.dark, hex(rgb(plain)));
    renderer.setStyles(this.styles);
  }

  private writeFacts(state: ScatterState, cloud: Cloud): void {
    const parts = [state.method, `${grouped(state.count)} of ${grouped(state.total)} points`];
    if (state.explained.length > 0) {
      const axes = state.explained.slice(0, 3).map((part, index) => `PC${index + 1} ${percent(part)}`);
      parts.push(`explained variance ${axes.join(', ')}`);
    }
    if (cloud.lost > 0) {
      parts.push(`${grouped(cloud.lost)} without a place (NaN or inf)`);
    }
    setText(this.facts, parts.join(' · '));
    this.facts.classList.toggle('wb-loud', cloud.lost > 0);
  }

  private moveCamera(camera: Camera): void {
    this.looked = true;
    this.turn = null;
    this.camera = camera;
    this.tooltip.hide();
    this.pointed = null;
    this.frame.request();
  }

  private turnTo(space: '2' | '3'): void {
    const to = { ...this.camera, flat: space === '2' ? 1 : 0 };
    this.looked = true;
    if (reducedMotion()) {
      this.camera = to;
    } else {
      this.turn = { from: this.camera, to, start: performance.now() };
    }
    this.frame.request();
  }

  private stepTurn(): void {
    if (this.turn) {
      const t = Math.min(1, (performance.now() - this.turn.start) / TURN_MILLISECONDS);
      this.camera = between(this.turn.from, this.turn.to, t * (2 - t));
      if (t >= 1) {
        this.turn = null;
      } else {
        this.frame.request();
      }
    }
  }

  private reset(): void {
    this.camera = { ...startCamera(this.state?.dims ?? 3), flat: this.space.value === '2' ? 1 : 0 };
    this.turn = null;
    this.frame.request();
  }

  private toggleLabels(): void {
    this.labels = !this.labels;
    this.labelsButton.setAttribute('aria-pressed', String(this.labels));
    this.frame.request();
  }

  private filter(hidden: ReadonlySet<number>): void {
    this.hidden = hidden;
    this.restyle = true;
    this.frame.request();
  }

  private search(text: string, commit: boolean): number {
    const found = this.cloud ? searchPoints(this.cloud, text) : [];
    this.found = new Set(found);
    this.restyle = true;
    if (commit && found.length > 0) {
      this.choose(found);
    }
    this.frame.request();
    return found.length;
  }

  private currentProjection(): Projection {
    return projection(this.camera, this.field.clientWidth, this.field.clientHeight);
  }

  private pointUnder(x: number, y: number): number | null {
    const { cloud } = this;
    const reach =
      Math.max(8, pointRadius(cloud?.count ?? 0, this.camera) + 4) +
      (this.shape.value === 'pictures' ? 6 : 0);
    return cloud ? pick(cloud, this.styles, this.currentProjection(), x, y, reach) : null;
  }

  private hover(x: number, y: number): void {
    this.pointer = [x, y];
    requestAnimationFrame(() => {
      if (this.pointer?.[0] === x && this.pointer[1] === y) {
        this.pointAt(this.pointUnder(x, y));
      }
    });
  }

  private leave(): void {
    this.pointer = null;
    this.pointAt(null);
  }

  private pointAt(point: number | null): void {
    if (point !== this.pointed) {
      this.pointed = point;
      this.field.toggleAttribute('data-hover', point !== null);
      if (point === null) {
        this.tooltip.hide();
      }
      this.frame.request();
    }
  }

  private pickAt(x: number, y: number, add: boolean): void {
    const point = this.pointUnder(x, y);
    if (point === null) {
      if (!add && this.selected.length > 0) {
        this.choose([]);
      }
    } else if (add) {
      this.choose(
        this.selected.includes(point)
          ? this.selected.filter(other => other !== point)
          : [...this.selected, point]
      );
    } else {
      this.choose([point]);
    }
  }

  private boxed(box: PixelBox | null, done: boolean, add: boolean): void {
    this.box = done ? null : box;
    if (done && box && this.cloud) {
      const points = pickBox(this.cloud, this.styles, this.currentProjection(), box);
      this.choose(add ? [...new Set([...this.selected, ...points])] : points);
    }
    this.frame.request();
  }

  /** Selects points here, and tells Python and the other views. */
  private choose(points: readonly number[], tell = true): void {
    const { state, cloud } = this;
    if (!state || !cloud) {
      return;
    }
    const kept = points.filter(point => point >= 0 && point < cloud.count).slice(0, MOST_SELECTED);
    this.refusal.say(
      points.length > MOST_SELECTED
        ? `${grouped(points.length)} points are more than one selection takes: the first ${grouped(MOST_SELECTED)} are selected.`
        : ''
    );
    this.selected = kept;
    this.waiting = true;
    this.restyle = true;
    this.side.update(state, cloud, kept, this.theme.dark);
    setText(
      this.live,
      kept.length === 1
        ? `point ${kept[0]} ${nameOf(cloud, kept[0]!)} selected`
        : `${kept.length} points selected`
    );
    this.frame.request();
    if (tell) {
      this.host.select?.({ points: kept, from: 'scatter' });
    }
    void this.send({ type: 'select_points', indices: [...kept] }).then(answer => {
      if (sameNumbers(kept, this.selected)) {
        this.waiting = false;
        if (answer && !answer.accepted) {
          this.refused(answer.reason);
        }
      }
    });
  }

  private refused(reason: string): void {
    const { state, cloud } = this;
    if (state && cloud) {
      this.selected = state.selected;
      this.restyle = true;
      this.side.update(state, cloud, this.selected, this.theme.dark);
      if (reason) {
        this.refusal.say(`Refused: ${reason}`);
      }
      this.frame.request();
    }
  }

  private key(key: string): boolean {
    const { cloud } = this;
    if (!cloud) {
      return false;
    }
    if (key === '.' || key === ',') {
      this.walk(key === '.' ? 1 : -1, cloud);
    } else if (key === 'Enter' && this.pointed !== null) {
      this.choose([this.pointed]);
    } else if (key === 'Escape') {
      this.choose([]);
      this.pointAt(null);
    } else if (key === '0' || key === 'Home') {
      this.reset();
    } else {
      return false;
    }
    return true;
  }

  /** Points at the next point that is shown. */
  private walk(step: number, cloud: Cloud): void {
    let point = this.pointed ?? this.selected[0] ?? (step > 0 ? -1 : cloud.count);
    for (let tried = 0; tried < cloud.count; tried++) {
      point = (point + step + cloud.count) % cloud.count;
      if (this.styles[point * 4 + 3] !== HIDDEN) {
        this.pointAt(point);
        setText(this.live, `point ${point} ${nameOf(cloud, point)}`);
        return;
      }
    }
  }

  /** The card beside the point under the pointer. */
  private showCard(at: Projection): void {
    const { cloud, pointed, state } = this;
    if (!cloud || !state || pointed === null || pointed >= cloud.count) {
      this.tooltip.hide();
      return;
    }
    const field = this.field.getBoundingClientRect();
    const [x, y] = project(
      at,
      cloud.positions[pointed * 3]!,
      cloud.positions[pointed * 3 + 1]!,
      cloud.positions[pointed * 3 + 2]!
    );
    const [left, top] = [field.left + x, field.top + y];
    const label = nameOf(cloud, pointed);
    const row = state.rows[state.selected.indexOf(pointed)];
    const lines = row
      ? state.columns.map((column, index) => h('div', {}, `${column}: ${row[index] ?? ''}`))
      : [];
    const words = h(
      'div',
      {},
      h('b', {}, label || `point ${pointed}`),
      label ? h('div', { class: 'wb-quiet' }, `point ${pointed}`) : null,
      ...lines
    );
    this.tooltip.show(
      { left: left - 12, right: left + 12, top: top - 12, bottom: top + 12 },
      h('div', { class: 'wb-card' }, thumbnail(cloud, pointed, 48), words)
    );
  }

  private flatPicture(): HTMLCanvasElement {
    const copy = h('canvas', { width: this.canvas.width, height: this.canvas.height });
    const context = copy.getContext('2d');
    if (context) {
      context.fillStyle = hex(this.theme.paper);
      context.fillRect(0, 0, copy.width, copy.height);
      context.drawImage(this.canvas, 0, 0);
    }
    return copy;
  }
}

/** The scatter view: the embedding projector. */
export const mountScatter: Mount<ScatterState, ScatterViewEvent> = (root, host, options) =>
  new ScatterView(root, host, options);
