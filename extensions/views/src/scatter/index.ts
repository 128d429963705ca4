import type { Host, Mount, MountOptions } from '../host';
import type { ScatterState, ScatterViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace } from '../common/dom';
import type { Exports } from '../common/exporting';
import { Notice } from '../common/parts';
import { Picture } from '../common/picture';
import { pointRadius, project, projection, type Camera, type Projection } from './camera';
import { card } from './card';
import { checksum } from './choose';
import { HIDDEN, named, pick, pickBox, readCloud, type Cloud } from './cloud';
import { SCATTER_CSS } from './css';
import { Gestures, type PixelBox } from './gestures';
import { Instrument } from './instrument';
import { Look } from './look';
import { onPaper, pointsTable } from './saved';
import { pointName } from './scene';
import { Stage } from './stage';
import { watchContext } from './webgl';

class ScatterView extends Picture<ScatterState, ScatterViewEvent> {
  private readonly stage = new Stage();
  private readonly field: HTMLElement;
  private readonly instrument: Instrument;
  private readonly gestures: Gestures;
  private readonly look = new Look(() => this.frame.request());
  private readonly refusal = new Notice('wrong', 'wb-refusal', () => this.refusal.say(''));
  private readonly page: HTMLElement;
  private cloud: Cloud | null = null;
  private pointed: number | null = null;
  private pointer: readonly [number, number] | null = null;
  private box: PixelBox | null = null;
  private bytes = '';

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
          'Point cloud: drag or arrow keys turn, plus and minus zoom, comma and full stop walk through points, Enter selects, i isolates, a shows all, brackets step through frames, slash searches',
        'data-testid': 'wb-cloud'
      },
      this.stage.canvas
    );
    this.instrument = new Instrument({
      send: event => this.send(event, event.type === 'project' || event.type === 'save_bookmark'),
      restyle: () => {
        this.stage.restyle();
        this.frame.request();
      },
      redraw: () => this.frame.request(),
      focus: () => this.field.focus({ preventScroll: true }),
      point: point => this.pointAt(point),
      look: camera => (camera ? this.moveCamera(camera, false) : this.reset()),
      camera: () => this.look.camera,
      turn: flat => this.look.turnTo(flat),
      reset: () => this.reset(),
      tell: points => this.host.select?.({ points, from: 'scatter' }),
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
      side.element,
      bar.element,
      live
    );
    this.gestures = new Gestures(this.field, {
      camera: () => this.look.camera,
      moveCamera: camera => this.moveCamera(camera),
      hover: (x, y) => this.hover(x, y),
      leave: () => this.leave(),
      pick: (x, y, add) => this.pickAt(x, y, add),
      box: (box, done, add) => this.boxed(box, done, add),
      key: key => this.key(key)
    });
    this.wrong.element.after(this.refusal.element);
    this.chooseRenderer();
    // Only the page's shared context can be lost.
    if (this.stage.kind === 'webgl') {
      this.listeners.add(watchContext(() => this.chooseRenderer()));
    }
    this.slashLeadsTo(side.search.field);
    this.undoByKeys();
    this.listeners.add(
      host.onSelect?.(selection => {
        if (selection.from !== 'scatter' && selection.points) {
          this.instrument.choose([...selection.points], false);
        }
      })
    );
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
        box: this.box,
        pictures: instrument.bar.pictures,
        labels: instrument.bar.labels,
        theme: this.theme
      },
      width,
      height
    );
    this.showCard(at);
  }

  protected exports(): Exports {
    const scene = this.instrument.scene();
    return scene
      ? {
          canvas: () => onPaper(this.stage.canvas, this.theme.paper),
          caption: () => [this.instrument.bar.text],
          csv: () => pointsTable(scene),
          json: () => scene.state
        }
      : {};
  }

  protected override themeChanged(): void {
    this.instrument.themed(this.theme.dark);
  }

  override destroy(): void {
    this.gestures.destroy();
    this.instrument.destroy();
    this.stage.destroy();
    super.destroy();
  }

  /** Says what is missing in a cloud without points; the next state begins anew. */
  private showNothing(): void {
    this.cloud = null;
    this.bytes = '';
    this.pointAt(null);
    replace(
      this.content,
      this.empty('This embedding has no points. Give it vectors of at least one sample, a row each:')
    );
  }

  /** Decodes the points, unless they are the very ones that are drawn already. */
  private takeCloud(state: ScatterState, buffers: readonly DataView[]): void {
    const used = [state.positions_buffer, state.sprite?.image_buffer ?? -1];
    const key = JSON.stringify([
      state.method,
      state.count,
      state.dims,
      state.sprite,
      used.map(index => buffers[index] && checksum(buffers[index]))
    ]);
    if (key === this.bytes && this.cloud) {
      return;
    }
    const first = this.cloud === null;
    const dimsBefore = this.state?.dims;
    this.cloud = readCloud(state, buffers);
    this.bytes = key;
    this.stage.setCloud(this.cloud);
    this.pointed = null;
    this.look.begin(state.dims, first || dimsBefore !== state.dims);
    this.instrument.bar.offer(state, this.look.camera.flat > 0.5);
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

  private currentProjection(): Projection {
    return projection(this.look.camera, this.field.clientWidth, this.field.clientHeight);
  }

  private pointUnder(x: number, y: number): number | null {
    const { cloud } = this;
    const reach =
      Math.max(8, pointRadius(cloud?.count ?? 0, this.look.camera) + 4) +
      (this.instrument.bar.pictures ? 6 : 0);
    return cloud ? pick(cloud, this.stage.styles, this.currentProjection(), x, y, reach) : null;
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

  private pickAt(x: number, y: number, add: boolean): void {
    const point = this.pointUnder(x, y);
    if (point === null) {
      if (!add && this.instrument.choice.points.length > 0) {
        this.instrument.choose([]);
      }
    } else if (add) {
      this.instrument.choose(this.instrument.choice.with(point));
    } else {
      this.instrument.choose([point]);
    }
  }

  private boxed(box: PixelBox | null, done: boolean, add: boolean): void {
    this.box = done ? null : box;
    if (done && box && this.cloud) {
      const points = pickBox(this.cloud, this.stage.styles, this.currentProjection(), box);
      this.instrument.choose(add ? [...new Set([...this.instrument.choice.points, ...points])] : points);
    }
    this.frame.request();
  }

  private key(key: string): boolean {
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
      if (this.stage.styles[point * 4 + 3] !== HIDDEN) {
        this.pointAt(point);
        const scene = this.instrument.scene();
        this.instrument.announce(`point ${point} ${scene ? pointName(scene, point) : ''}`);
        return;
      }
    }
  }

  /** The card beside the point under the pointer. */
  private showCard(at: Projection): void {
    const { cloud, pointed } = this;
    const scene = this.instrument.scene();
    if (!cloud || !scene || pointed === null || pointed >= cloud.count) {
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
    this.tooltip.show(
      { left: left - 12, right: left + 12, top: top - 12, bottom: top + 12 },
      card(scene, pointed)
    );
  }
}

/** The scatter view: the embedding projector. */
export const mountScatter: Mount<ScatterState, ScatterViewEvent> = (root, host, options) =>
  new ScatterView(root, host, options);
