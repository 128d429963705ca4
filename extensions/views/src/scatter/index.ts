import type { Host, Mount, MountOptions } from '../host';
import type { ScatterState, ScatterViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace, setText } from '../common/dom';
import type { Exports } from '../common/exporting';
import { grouped } from '../common/numbers';
import { Notice } from '../common/parts';
import { Picture } from '../common/picture';
import { Bar } from './bar';
import { pointRadius, project, projection, type Camera, type Projection } from './camera';
import { card } from './card';
import { Choice, MOST_SELECTED } from './choice';
import { checksum } from './choose';
import { HIDDEN, nameOf, pick, pickBox, readCloud, searchPoints, type Cloud } from './cloud';
import { SCATTER_CSS } from './css';
import { Gestures, type PixelBox } from './gestures';
import { Look } from './look';
import { onPaper, pointsTable } from './saved';
import { Side } from './side';
import { Stage } from './stage';
import { watchContext } from './webgl';

class ScatterView extends Picture<ScatterState, ScatterViewEvent> {
  private readonly stage = new Stage();
  private readonly field: HTMLElement;
  private readonly side: Side;
  private readonly gestures: Gestures;
  private readonly bar: Bar;
  private readonly look = new Look(() => this.frame.request());
  private readonly choice = new Choice();
  private readonly live = h('div', { class: 'wb-hidden', 'aria-live': 'polite' });
  private readonly refusal = new Notice('wrong', 'wb-refusal', () => this.refusal.say(''));
  private readonly page: HTMLElement;
  private cloud: Cloud | null = null;
  private hidden: ReadonlySet<number> = new Set();
  private found: ReadonlySet<number> = new Set();
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
          'Point cloud: drag or arrow keys turn, plus and minus zoom, comma and full stop walk through points, Enter selects, slash searches',
        'data-testid': 'wb-cloud'
      },
      this.stage.canvas
    );
    this.side = new Side({
      search: (text, commit) => this.search(text, commit),
      filter: hidden => this.filter(hidden),
      choose: point => this.choose([point]),
      clear: () => this.choose([]),
      metric: metric => void this.send({ type: 'set_metric', metric }),
      point: point => this.pointAt(point)
    });
    this.bar = new Bar({
      turn: flat => this.look.turnTo(flat),
      redraw: () => this.frame.request(),
      reset: () => this.reset()
    });
    this.page = h(
      'div',
      { class: 'wb-projector' },
      this.field,
      this.side.element,
      this.bar.element,
      this.live
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
    this.slashLeadsTo(this.side.field);
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
    if (state.count === 0) {
      this.showNothing();
      return;
    }
    this.takeCloud(state, buffers);
    const cloud = this.cloud!;
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    this.choice.follow(state);
    this.stage.restyle();
    this.bar.update(state, cloud);
    this.refusal.say(state.refusal ? `Refused: ${state.refusal.reason}` : '');
    this.side.update(state, cloud, this.choice.points, this.theme.dark);
  }

  protected draw(): void {
    const { cloud, state } = this;
    const width = this.field.clientWidth;
    const height = this.field.clientHeight;
    if (!cloud || !state || width < 2 || height < 2) {
      return;
    }
    this.look.step();
    const shown = {
      cloud,
      state,
      camera: this.look.camera,
      choice: this.choice,
      found: this.found,
      hidden: this.hidden,
      pointed: this.pointed,
      box: this.box,
      pictures: this.bar.pictures,
      labels: this.bar.labels,
      theme: this.theme
    };
    const at = this.stage.draw(shown, width, height);
    this.showCard(at);
  }

  protected exports(): Exports {
    const { cloud, state } = this;
    if (!cloud || !state) {
      return {};
    }
    return {
      canvas: () => onPaper(this.stage.canvas, this.theme.paper),
      caption: () => [this.bar.text],
      csv: () => pointsTable(state, cloud),
      json: () => state
    };
  }

  protected override themeChanged(): void {
    this.stage.restyle();
    if (this.state && this.cloud) {
      this.side.update(this.state, this.cloud, this.choice.points, this.theme.dark);
    }
  }

  override destroy(): void {
    this.gestures.destroy();
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
    this.stage.setCloud(this.cloud);
    this.pointed = null;
    this.found = new Set();
    this.look.begin(state.dims, first || dimsBefore !== state.dims);
    this.bar.offer(state, this.look.camera.flat > 0.5);
  }

  private chooseRenderer(): void {
    this.bar.say(this.stage.choose(this.options.renderer ?? 'auto', this.cloud));
    this.element.dataset['renderer'] = this.stage.kind ?? '';
    this.frame.request();
  }

  private moveCamera(camera: Camera): void {
    this.tooltip.hide();
    this.pointed = null;
    this.look.move(camera);
  }

  private reset(): void {
    this.look.reset(this.state?.dims ?? 3, this.bar.flat);
  }

  private filter(hidden: ReadonlySet<number>): void {
    this.hidden = hidden;
    this.stage.restyle();
    this.frame.request();
  }

  private search(text: string, commit: boolean): number {
    const found = this.cloud ? searchPoints(this.cloud, text) : [];
    this.found = new Set(found);
    this.stage.restyle();
    if (commit && found.length > 0) {
      this.choose(found);
    }
    this.frame.request();
    return found.length;
  }

  private currentProjection(): Projection {
    return projection(this.look.camera, this.field.clientWidth, this.field.clientHeight);
  }

  private pointUnder(x: number, y: number): number | null {
    const { cloud } = this;
    const reach =
      Math.max(8, pointRadius(cloud?.count ?? 0, this.look.camera) + 4) + (this.bar.pictures ? 6 : 0);
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
      if (!add && this.choice.points.length > 0) {
        this.choose([]);
      }
    } else if (add) {
      this.choose(this.choice.with(point));
    } else {
      this.choose([point]);
    }
  }

  private boxed(box: PixelBox | null, done: boolean, add: boolean): void {
    this.box = done ? null : box;
    if (done && box && this.cloud) {
      const points = pickBox(this.cloud, this.stage.styles, this.currentProjection(), box);
      this.choose(add ? [...new Set([...this.choice.points, ...points])] : points);
    }
    this.frame.request();
  }

  /** Selects points here, and tells Python and the other views. */
  private choose(points: readonly number[], tell = true): void {
    const { state, cloud } = this;
    if (!state || !cloud) {
      return;
    }
    const kept = this.choice.take(points, cloud.count);
    this.refusal.say(
      points.length > MOST_SELECTED
        ? `${grouped(points.length)} points are more than one selection takes: the first ${grouped(MOST_SELECTED)} are selected.`
        : ''
    );
    this.stage.restyle();
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
      if (this.choice.answered(kept) && answer && !answer.accepted) {
        this.refused(answer.reason);
      }
    });
  }

  private refused(reason: string): void {
    const { state, cloud } = this;
    if (state && cloud) {
      this.choice.giveIn(state);
      this.stage.restyle();
      this.side.update(state, cloud, this.choice.points, this.theme.dark);
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
    let point = this.pointed ?? this.choice.points[0] ?? (step > 0 ? -1 : cloud.count);
    for (let tried = 0; tried < cloud.count; tried++) {
      point = (point + step + cloud.count) % cloud.count;
      if (this.stage.styles[point * 4 + 3] !== HIDDEN) {
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
    this.tooltip.show(
      { left: left - 12, right: left + 12, top: top - 12, bottom: top + 12 },
      card(cloud, state, pointed)
    );
  }
}

/** The scatter view: the embedding projector. */
export const mountScatter: Mount<ScatterState, ScatterViewEvent> = (root, host, options) =>
  new ScatterView(root, host, options);
