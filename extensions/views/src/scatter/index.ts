import type { Host, Mount, MountOptions } from '../host';
import type { ScatterState, ScatterViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace } from '../common/dom';
import type { Exports } from '../common/exporting';
import { Notice } from '../common/parts';
import { Picture } from '../common/picture';
import { pointRadius, zoomTo, type Camera } from './camera';
import { card } from './card';
import { checksum } from './choose';
import { moved, named, numberOf, numbersOf, placesOf, readCloud, type Cloud } from './cloud';
import { SCATTER_CSS } from './css';
import { Gestures, type Tool } from './gestures';
import { Instrument } from './instrument';
import { Judging } from './judging';
import { Look } from './look';
import { join, type Joining, type Lasso, type PixelBox } from './picking';
import { pictureWithLegend, tableExports, vectors } from './saved';
import { pointName } from './scene';
import { Stage } from './stage';
import { Tools } from './tools';
import { localised, Window } from './window';
import { Written } from './written';
import { watchContext } from '../common/webgl';

const TOOL_KEYS: Readonly<Record<string, Tool>> = { m: 'move', b: 'box', l: 'lasso' };

class ScatterView extends Picture<ScatterState, ScatterViewEvent> {
  private readonly stage = new Stage(() => this.frame.request());
  private readonly tools = new Tools(() => this.frame.request());
  private readonly window = new Window((low, high) => this.send({ type: 'look_closer', low, high }, true));
  private readonly judging = new Judging(projection => this.send({ type: 'judge', projection }, true));
  private readonly field: HTMLElement;
  private readonly instrument: Instrument;
  private readonly gestures: Gestures;
  private readonly look = new Look(() => this.frame.request());
  private readonly refusal = new Notice('wrong', 'wb-refusal', () => this.refusal.say(''));
  private readonly written = new Written(() => this.send({ type: 'write_table' }));
  private readonly page: HTMLElement;
  private cloud: Cloud | null = null;
  private pointed: number | null = null;
  private pointer: readonly [number, number] | null = null;
  private area: PixelBox | Lasso | null = null;
  private bytes: readonly string[] = [];
  private readonly localStates = new WeakSet<ScatterState>();

  constructor(root: HTMLElement, host: Host<ScatterViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'scatter',
      css: SCATTER_CSS,
      emptySentence: 'Embeddings will be drawn here as points. To project some:',
      emptyCode: 'wb.widgets.projector(wb.embedding.Embedding(activations, labels))'
    };
    super(root, host, identity, options);
    this.field = h(
      'div',
      {
        class: 'wb-cloud',
        tabindex: 0,
        role: 'application',
        'aria-label':
          'Point cloud: drag or arrow keys turn, plus and minus zoom, comma and full stop walk through points, Enter selects, v selects what is in view, b, l and m take the box, the lasso and the hand, z zooms to the selection, d chooses points or density, i isolates, a shows all, brackets step through frames, slash searches',
        'data-testid': 'wb-cloud'
      },
      this.stage.canvas
    );
    this.instrument = new Instrument({
      send: event =>
        this.send(this.outward(event), event.type === 'project' || event.type === 'save_bookmark'),
      restyle: () => this.frame.request(),
      redraw: () => this.frame.request(),
      focus: () => this.field.focus({ preventScroll: true }),
      point: point => this.pointAt(point),
      look: camera => (camera ? this.moveCamera(camera, false) : this.reset()),
      camera: () => this.look.camera,
      turn: flat => this.look.turnTo(flat),
      reset: () => this.reset(),
      tell: points =>
        this.host.select?.({
          points: this.cloud ? numbersOf(this.cloud, points) : [...points],
          from: 'scatter'
        }),
      copy: text => this.host.copy(text),
      ...(host.save && { save: host.save.bind(host) }),
      wrong: text => this.refusal.say(text),
      alone: options?.alone ?? false
    });
    const { rail, side, bar, live } = this.instrument;
    this.page = h(
      'div',
      { class: 'wb-projector' },
      rail.element,
      this.field,
      this.tools.element,
      side.element,
      bar.element,
      live
    );
    this.gestures = new Gestures(this.field, {
      camera: () => this.look.camera,
      moveCamera: camera => this.moveCamera(camera),
      hover: (x, y) => this.hover(x, y),
      leave: () => this.leave(),
      tool: () => this.tools.tool,
      pick: (x, y, how) => this.pickAt(x, y, how),
      area: (area, done, how) => this.caught(area, done, how),
      closer: () => this.zoomToSelection(),
      key: (key, how) => this.key(key, how)
    });
    this.wrong.element.after(this.refusal.element, this.written.element);
    this.chooseRenderer();
    // Only the page's shared context can be lost.
    if (this.stage.kind === 'webgl') {
      this.listeners.add(watchContext(() => this.chooseRenderer()));
    }
    this.slashLeadsTo(side.search.field);
    this.undoByKeys();
    this.listeners.add(
      host.onSelect?.(selection => {
        if (selection.from !== 'scatter' && selection.points && this.cloud) {
          this.instrument.choose(placesOf(this.cloud, selection.points), false);
        }
      })
    );
  }

  override update(state: ScatterState, buffers: readonly DataView[]): void {
    // Numbers of points become places among the drawn, here and nowhere else; a state that had to wait comes again.
    const here = this.localStates.has(state) ? state : localised(state, buffers);
    this.localStates.add(here);
    super.update(here, buffers);
  }

  protected accept(state: ScatterState, buffers: readonly DataView[]): void {
    if (state.kind !== 'scatter') {
      throw new StateError(`the scatter view knows no state of the kind “${String(state.kind)}”`);
    }
    if (state.count === 0) {
      this.showNothing();
      return;
    }
    this.takeCloud(state, buffers);
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    this.refusal.say(state.refusal ? `Refused: ${state.refusal.reason}` : '');
    this.instrument.accept(state, this.cloud!, buffers, this.theme.dark);
    this.judging.update(state);
    this.written.update(state.published);
  }

  protected draw(): void {
    const { state, instrument } = this;
    const width = this.field.clientWidth;
    const height = this.field.clientHeight;
    if (!this.cloud || !state || width < 2 || height < 2) {
      return;
    }
    this.cloud = named(this.cloud, instrument.label);
    this.look.step();
    const at = this.stage.draw(
      {
        cloud: this.cloud,
        state,
        camera: this.look.camera,
        choice: instrument.choice,
        found: instrument.found,
        shown: instrument.shown,
        colours: instrument.colours,
        // Names have the colours of their points only where these are coloured by them.
        coloured: instrument.now.colour === instrument.now.label,
        pointed: this.pointed,
        box: this.area && 'left' in this.area ? this.area : null,
        lasso: this.area && !('left' in this.area) ? this.area : null,
        manner: this.tools.manner,
        nameOf: point => this.nameOf(point),
        pictures: instrument.bar.pictures,
        labels: instrument.bar.labels,
        theme: this.theme
      },
      width,
      height
    );
    this.tools.say(this.stage.drawnAs);
    this.window.seen(state, this.cloud, at, width, height);
    this.showCard();
  }

  protected exports(): Exports {
    const scene = this.instrument.scene();
    if (!scene) {
      return {};
    }
    const picture = { scene, stage: this.stage, theme: this.theme, words: this.instrument.bar.text };
    return {
      canvas: () => pictureWithLegend(picture),
      ...(vectors.fit(picture) ? { svg: () => vectors.draw(picture) } : {}),
      caption: () => [picture.words],
      ...tableExports(scene, this.hasKernel ? () => void this.written.ask() : null),
      json: () => scene.state
    };
  }

  /** Whether Python can be asked for what is not in the page. */
  private get hasKernel(): boolean {
    return !this.options.alone && this.host.status.kind !== 'disconnected';
  }

  protected override themeChanged(): void {
    this.instrument.themed(this.theme.dark);
  }

  override destroy(): void {
    this.gestures.destroy();
    this.instrument.destroy();
    this.window.destroy();
    this.judging.destroy();
    this.stage.destroy();
    super.destroy();
  }

  /** Says what is missing in a cloud without points; the next state begins anew. */
  private showNothing(): void {
    this.cloud = null;
    this.bytes = [];
    this.pointAt(null);
    replace(
      this.content,
      this.empty('This embedding has no points. Give it vectors of at least one sample, a row each:')
    );
  }

  /** Decodes the points, unless they are the very ones that are drawn already. */
  private takeCloud(state: ScatterState, buffers: readonly DataView[]): void {
    const { count, dims, sprite, window } = state;
    const others = [sprite?.image_buffer, window?.weights_buffer, window?.numbers_buffer];
    const mark = (at: number | null | undefined): string => checksum(buffers[at ?? -1]);
    const key = JSON.stringify([count, dims, sprite, window, others.map(mark)]);
    const places = mark(state.positions_buffer);
    const [keyBefore, placesBefore] = this.bytes;
    this.bytes = [key, places];
    if (key === keyBefore && this.cloud) {
      // Where only places are others the points go there, and nothing is made anew.
      if (places !== placesBefore) {
        this.cloud = moved(this.cloud, state, buffers);
        this.stage.moveCloud(this.cloud);
        this.instrument.bar.offer(state, this.look.camera.flat > 0.5);
      }
      return;
    }
    const first = this.cloud === null;
    const dimsBefore = this.state?.dims;
    this.cloud = readCloud(state, buffers);
    this.stage.setCloud(this.cloud);
    this.pointed = null;
    this.look.begin(state.dims, first || dimsBefore !== state.dims);
    this.instrument.bar.offer(state, this.look.camera.flat > 0.5);
    this.tools.offer(this.cloud);
  }

  private chooseRenderer(): void {
    this.instrument.bar.say(this.stage.choose(this.options.renderer ?? 'auto', this.cloud));
    this.element.dataset['renderer'] = this.stage.kind ?? '';
    this.frame.request();
  }

  private moveCamera(camera: Camera, byHand = true): void {
    this.tooltip.hide();
    this.pointed = null;
    this.look.move(camera);
    if (byHand) {
      this.instrument.moved(camera);
    }
  }

  private reset(): void {
    this.look.reset(this.state?.dims ?? 3, this.instrument.bar.flat);
  }

  /** Ctrl+Z goes back, Ctrl+Shift+Z and Ctrl+Y forth, but where text is typed, which has steps of its own. */
  private undoByKeys(): void {
    this.listeners.on(this.element, 'keydown', event => {
      const key = event.key.toLowerCase();
      const typed = event.target instanceof HTMLInputElement && event.target.type !== 'range';
      if ((event.ctrlKey || event.metaKey) && (key === 'z' || key === 'y') && !typed) {
        this.instrument.step(key === 'z' && !event.shiftKey);
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  private pointUnder(x: number, y: number): number | null {
    const { cloud } = this;
    const reach =
      Math.max(8, pointRadius(cloud?.count ?? 0, this.look.camera) + 4) +
      (this.instrument.bar.pictures ? 6 : 0);
    return cloud && cloud.weights === null ? this.stage.pick(x, y, reach) : null;
  }

  private hover(x: number, y: number): void {
    this.pointer = [x, y];
    // Once a frame at most, and for the last place only: all points are looked through.
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

  private pickAt(x: number, y: number, how: Joining): void {
    const { choice } = this.instrument;
    const point = this.pointUnder(x, y);
    if (point !== null) {
      this.instrument.choose(how === 'add' ? choice.with(point) : join(choice.points, [point], how));
    } else if (how === 'replace' && choice.points.length > 0) {
      this.instrument.choose([]);
    }
  }

  private caught(area: PixelBox | Lasso | null, done: boolean, how: Joining): void {
    this.area = done ? null : area;
    if (done && area) {
      this.catchPoints(area, how);
    }
    this.frame.request();
  }

  private catchPoints(area: PixelBox | Lasso, how: Joining): void {
    if (this.cloud?.weights) {
      this.refusal.say('Density has no single points to select: zoom in until they are drawn.');
    } else {
      this.instrument.choose(join(this.instrument.choice.points, this.stage.caught(area), how));
    }
  }

  /** Zooms to what is selected; to what was found, or back to the whole, where nothing is. */
  private zoomToSelection(): void {
    const { choice, found } = this.instrument;
    const box = this.stage.boxOf(choice.points.length > 0 ? choice.points : [...found]);
    if (box) {
      const to = zoomTo(this.look.camera, box, this.field.clientWidth, this.field.clientHeight);
      this.look.goTo(to);
      this.instrument.moved(to);
    } else {
      this.reset();
    }
  }

  /** An event as Python hears it: with the points' numbers. */
  private outward(event: ScatterViewEvent): ScatterViewEvent {
    const { cloud } = this;
    return event.type === 'select_points' && cloud
      ? { ...event, indices: numbersOf(cloud, event.indices) }
      : event;
  }

  private nameOf(point: number): string {
    const scene = this.instrument.scene();
    return scene ? pointName(scene, point) : '';
  }

  private key(key: string, how: Joining): boolean {
    const { cloud } = this;
    if (!cloud) {
      return false;
    }
    if (key === '.' || key === ',') {
      this.walk(key === '.' ? 1 : -1, cloud);
    } else if (key === 'Enter' && this.pointed !== null) {
      this.instrument.choose([this.pointed]);
    } else if (key === 'Escape') {
      this.instrument.choose([]);
      this.pointAt(null);
    } else if (key === '0' || key === 'Home') {
      this.reset();
    } else if (key === 'v') {
      const [right, bottom] = [this.field.clientWidth, this.field.clientHeight];
      this.catchPoints({ left: 0, top: 0, right, bottom }, how);
    } else if (key in TOOL_KEYS) {
      this.tools.take(TOOL_KEYS[key]!);
    } else if (key === 'd') {
      this.tools.turn();
      this.frame.request();
    } else if (key === 'z') {
      this.zoomToSelection();
    } else {
      return this.instrument.key(key);
    }
    return true;
  }

  /** Points at the next point that is shown. */
  private walk(step: number, cloud: Cloud): void {
    let point = this.pointed ?? this.instrument.choice.points[0] ?? (step > 0 ? -1 : cloud.count);
    for (let tried = 0; tried < cloud.count; tried++) {
      point = (point + step + cloud.count) % cloud.count;
      if (this.stage.shows(point)) {
        this.pointAt(point);
        this.instrument.announce(`point ${numberOf(cloud, point)} ${this.nameOf(point)}`);
        return;
      }
    }
  }

  /** The card beside the point under the pointer. */
  private showCard(): void {
    const { cloud, pointed } = this;
    const scene = this.instrument.scene();
    if (!cloud || !scene || pointed === null || pointed >= cloud.count) {
      this.tooltip.hide();
      return;
    }
    const field = this.field.getBoundingClientRect();
    const [x, y] = this.stage.spotOf(pointed);
    const [left, top] = [field.left + x, field.top + y];
    this.tooltip.show(
      { left: left - 12, right: left + 12, top: top - 12, bottom: top + 12 },
      card(scene, pointed)
    );
  }
}

/** The scatter view: the embedding projector. */
export const mountScatter: Mount<ScatterState, ScatterViewEvent> = (root, host, options) =>
  new ScatterView(root, host, options);
