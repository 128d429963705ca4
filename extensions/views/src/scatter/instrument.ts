/** What stands around the cloud, and how it is arranged: columns, filters, selection, undo; one place asks Python. */
import type { Answer } from '../host';
import type { ScatterState, ScatterViewEvent } from '../protocol';
import { h, setText } from '../common/dom';
import { download } from '../common/exporting';
import { FocusKeeper } from '../common/focus';
import { grouped } from '../common/numbers';
import { History, isFiltered, PLAIN_ARRANGEMENT, withoutFilters, type Arrangement } from './arrangement';
import { Bar } from './bar';
import { Choice, MOST_SELECTED } from './choice';
import { checksum, sameNumbers } from './choose';
import type { Camera } from './camera';
import { numbersOf, placesOf, type Cloud } from './cloud';
import { readColumn, type Column } from './columns';
import { shownBy } from './filters';
import { coloursBy } from './paint';
import { Rail } from './rail';
import { pointName, type Asks, type Scene } from './scene';
import { Side } from './side';
import { Sound } from './sound';

/** What the instrument needs of the view. */
export interface Surroundings {
  send(event: ScatterViewEvent): Promise<Answer | void>;
  /** Points have another look: colours, what is shown, what stands out. */
  restyle(): void;
  redraw(): void;
  /** Gives the cloud the focus. */
  focus(): void;
  point(point: number | null): void;
  look(camera: Camera | null): void;
  camera(): Camera;
  turn(flat: boolean): void;
  reset(): void;
  /** Points of this selection are those of all views. */
  tell(points: readonly number[]): void;
  copy(text: string): void;
  save?(name: string, data: Blob): void;
  /** Says what is wrong; empty takes it back. */
  wrong(text: string): void;
  readonly alone: boolean;
}

/** A rail needs room: where there is less it waits to be asked for. */
const ROOM_FOR_RAIL = 1000;

/** The parts around the cloud. */
export class Instrument implements Asks {
  readonly bar: Bar;
  readonly side: Side;
  readonly rail: Rail;
  readonly choice = new Choice();
  readonly live = h('div', { class: 'wb-hidden', 'aria-live': 'polite' });
  /** What the search found. */
  found: ReadonlySet<number> = new Set();
  /** One byte a point, 1 where it is shown; null where all are. */
  shown: Uint8Array | null = null;
  /** Red, green and blue of each point; null where all have one colour. */
  colours: Uint8Array | null = null;
  private readonly history = new History();
  private readonly sound = new Sound();
  private readonly focus: FocusKeeper;
  private columns: ReadonlyMap<string, Column> = new Map();
  private state: ScatterState | null = null;
  private cloud: Cloud | null = null;
  private told = '';
  private dark = false;
  private started = false;

  constructor(private readonly around: Surroundings) {
    this.side = new Side(this);
    this.rail = new Rail(this);
    this.focus = new FocusKeeper(this.side.element);
    this.bar = new Bar({
      turn: flat => around.turn(flat),
      redraw: () => around.redraw(),
      reset: () => around.reset(),
      rail: () => this.showRail(!this.railOpen),
      step: back => this.step(back)
    });
  }

  /** How the picture is arranged. */
  get now(): Arrangement {
    return this.history.now;
  }

  /** The grid whose first column the rail is. */
  private get page(): HTMLElement | null {
    return this.rail.element.parentElement;
  }

  private get railOpen(): boolean {
    return this.page?.hasAttribute('data-rail') ?? false;
  }

  /** Takes a state and its points. */
  accept(state: ScatterState, cloud: Cloud, buffers: readonly DataView[], dark: boolean): void {
    const told = columnsKey(state, buffers);
    const other = told !== this.told;
    this.state = state;
    this.cloud = cloud;
    this.dark = dark;
    if (other) {
      this.told = told;
      this.columns = new Map(
        state.columns.map(told => [told.name, readColumn(told, buffers, state.count, cloud.weights)])
      );
    }
    this.choice.follow(state);
    this.follow(state);
    if (this.sound.take(state.clip, buffers)) {
      this.announce(`point ${state.clip!.point} is played`);
    }
    this.recolour();
    this.update();
  }

  /** Takes what Python and other views have changed; that is no step to be undone here. */
  private follow(state: ScatterState): void {
    const change: Partial<Arrangement> = {
      projection: state.projection,
      selected: this.numbers(this.choice.points),
      metric: state.metric,
      k: state.k
    };
    if (!this.started) {
      this.started = true;
      const first = state.arrangement ?? {
        ...PLAIN_ARRANGEMENT,
        label: state.label_name,
        colour: state.label_name
      };
      this.history.follow({ ...first, ...change });
      if (state.arrangement) {
        this.look(first);
      }
      this.showRail(!this.around.alone && (this.page?.clientWidth ?? 0) >= ROOM_FOR_RAIL);
      return;
    }
    this.history.follow(change);
  }

  /** All there is to see; null before the first state. */
  scene(): Scene | null {
    const { state, cloud } = this;
    return state && cloud
      ? {
          state,
          cloud,
          columns: this.columns,
          now: this.now,
          shown: this.shown,
          selected: this.choice.points,
          dark: this.dark,
          alone: this.around.alone
        }
      : null;
  }

  /** The column that points are named by. */
  get label(): Column | undefined {
    return this.columns.get(this.now.label);
  }

  /** Writes all parts anew. The focus stays where it was; what held it and is gone leaves it to the cloud. */
  update(): void {
    const scene = this.scene();
    if (scene) {
      const had = this.hasFocus();
      this.focus.during(() => {
        this.bar.update(scene);
        this.bar.steps(this.history.canUndo, this.history.canRedo);
        this.side.update(scene);
        this.rail.update(scene);
      });
      if (had && !this.hasFocus()) {
        this.around.focus();
      }
    }
  }

  private hasFocus(): boolean {
    const { page } = this;
    // A widget may stand in a shadow root, whose focus the document does not name.
    const active = (page?.getRootNode() as Document | ShadowRoot | undefined)?.activeElement ?? null;
    return page !== null && page.contains(active);
  }

  /** Takes another theme. */
  themed(dark: boolean): void {
    this.dark = dark;
    this.recolour();
    this.update();
  }

  private recolour(): void {
    this.shown = this.cloud ? shownBy(this.now, this.columns, this.cloud) : null;
    this.colours = coloursBy(this.columns.get(this.now.colour), this.dark);
    this.around.restyle();
  }

  // ------------------------------------------------------------------------------------------------- asks

  arrange(change: Partial<Arrangement>, kind = ''): void {
    const before = this.now;
    this.history.take({ ...before, ...change }, kind);
    this.apply(before);
  }

  /** Goes a step back, or forward again. */
  step(back: boolean): void {
    const before = this.now;
    if (this.history.step(back)) {
      this.apply(before);
      this.announce(back ? 'undone' : 'done again');
    }
  }

  /** A hand has moved the camera. */
  moved(camera: Camera): void {
    this.history.take({ ...this.now, camera: cameraNumbers(camera) }, 'camera');
    this.bar.steps(this.history.canUndo, this.history.canRedo);
  }

  choose(points: readonly number[], tell = true): void {
    const { cloud } = this;
    if (!cloud) {
      return;
    }
    const kept = this.choice.take(points, cloud.count);
    // What is selected already, as by the second press of two, is no step.
    const selected = this.numbers(kept);
    if (tell && !sameNumbers(selected, this.now.selected)) {
      this.history.take({ ...this.now, selected });
    } else {
      this.history.follow({ selected });
    }
    this.around.wrong(
      points.length > MOST_SELECTED
        ? `${grouped(points.length)} points are more than one selection takes: the first ${grouped(MOST_SELECTED)} are selected.`
        : ''
    );
    this.selected(kept, tell);
  }

  point(point: number | null): void {
    this.around.point(point);
  }

  mark(points: readonly number[]): void {
    this.found = new Set(points);
    this.around.restyle();
  }

  send(event: ScatterViewEvent): Promise<Answer | void> {
    return this.around.send(event);
  }

  arrangement(): Arrangement {
    return { ...this.now, camera: cameraNumbers(this.around.camera()) };
  }

  copy(text: string): void {
    this.around.copy(text);
  }

  save(name: string, data: Blob): void {
    (this.around.save ?? download)(name, data);
  }

  wrong(text: string): void {
    this.around.wrong(text);
  }

  // ------------------------------------------------------------------------------------------------- keys

  /** A key that arranges; says whether it was one. */
  key(key: string): boolean {
    const { selected } = this.now;
    if (key === 'i' && selected.length > 0) {
      this.arrange({ isolated: [...selected] });
    } else if (key === 'a' && isFiltered(this.now)) {
      this.arrange(withoutFilters(this.now));
    } else if (key === '[' || key === ']') {
      return this.rail.frames.step(key === ']' ? 1 : -1);
    } else if (key === ' ') {
      return this.rail.frames.toggle();
    } else if (key === 's' && this.state?.sounds && selected[0] !== undefined) {
      this.sound.want(selected[0]);
      void this.around.send({ type: 'play', point: selected[0] });
    } else {
      return false;
    }
    return true;
  }

  /** Says something to who listens. */
  announce(text: string): void {
    setText(this.live, text);
  }

  /** Ends what goes on by itself. */
  destroy(): void {
    this.rail.frames.stop();
    this.sound.stop();
  }

  /** Opens the rail, or closes it. */
  private showRail(open: boolean): void {
    this.page?.toggleAttribute('data-rail', open);
    this.bar.railOpen(open);
    this.around.redraw();
  }

  /** Points as an arrangement keeps them: by their numbers, which stay while another part of them is drawn. */
  private numbers(points: readonly number[]): number[] {
    return this.cloud ? numbersOf(this.cloud, points) : [...points];
  }

  /** Brings everything to what is arranged now. */
  private apply(before: Arrangement): void {
    const { now, state } = this;
    if (now.projection !== state?.projection) {
      this.ask(now.projection);
    }
    if (now.metric !== before.metric || now.k !== before.k) {
      void this.around.send({ type: 'set_neighbours', metric: now.metric, k: now.k });
    }
    if (now.camera !== before.camera) {
      this.look(now);
    }
    if (!sameNumbers(now.selected, before.selected) && this.cloud) {
      this.selected(this.choice.take(placesOf(this.cloud, now.selected), this.cloud.count), true);
    }
    this.recolour();
    this.update();
  }

  /** Asks for a projection, as far as there is one of that name or the like. */
  private ask(name: string): void {
    const { state } = this;
    const asked = name.toLowerCase();
    const there =
      state?.projections.find(one => one === name) ??
      state?.projections.find(one => asked !== '' && one.toLowerCase().startsWith(asked));
    if (there !== undefined) {
      this.history.follow({ projection: there });
      if (there !== state?.projection) {
        void this.around.send({ type: 'show_projection', name: there });
      }
    } else if (state) {
      this.history.follow({ projection: state.projection });
      if (name !== '') {
        this.around.wrong(`There is no projection “${name}” here; the one that is drawn stays.`);
      }
    }
  }

  private look(now: Arrangement): void {
    const [yaw, pitch, zoom, panX, panY, flat] = now.camera;
    this.around.look(
      now.camera.length === 6
        ? { yaw: yaw!, pitch: pitch!, zoom: zoom!, panX: panX!, panY: panY!, flat: flat! }
        : null
    );
  }

  private selected(kept: readonly number[], tell: boolean): void {
    const scene = this.scene();
    this.around.restyle();
    this.update();
    if (scene) {
      this.announce(
        kept.length === 1
          ? `${pointName(scene, kept[0]!)} selected`
          : `${grouped(kept.length)} points selected`
      );
    }
    if (tell) {
      this.around.tell(kept);
    }
    void this.around.send({ type: 'select_points', indices: [...kept] }).then(answer => {
      if (this.choice.answered(kept) && answer && !answer.accepted) {
        this.refused(answer.reason);
      }
    });
  }

  private refused(reason: string): void {
    const { state } = this;
    if (state) {
      this.choice.giveIn(state);
      this.history.follow({ selected: this.numbers(this.choice.points) });
      this.around.restyle();
      this.update();
      if (reason) {
        this.around.wrong(`Refused: ${reason}`);
      }
    }
  }
}

/** A camera as an arrangement keeps it. */
function cameraNumbers({ yaw, pitch, zoom, panX, panY, flat }: Camera): number[] {
  return [yaw, pitch, zoom, panX, panY, flat];
}

/** What tells columns from others: as what they are told, and the bytes that they lie in. */
function columnsKey(state: ScatterState, buffers: readonly DataView[]): string {
  const bytes = state.columns.flatMap(({ buffer, ends_buffer: ends }) =>
    [buffer, ends].map(index => {
      const view = index === null ? undefined : buffers[index];
      return view ? checksum(view) : '';
    })
  );
  return JSON.stringify([state.count, state.columns, bytes]);
}
