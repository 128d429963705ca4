/** The canvas of the projector: the renderer in use, the points' styles, and what is drawn over them. */
import type { ScatterState } from '../protocol';
import { categoryColour, rgb } from '../common/colours';
import { h } from '../common/dom';
import { fitCanvas } from '../common/raster';
import { parseColour, type Theme } from '../common/theme';
import { pointRadius, project, projection, type Camera, type Projection } from './camera';
import type { Choice } from './choice';
import { makeRenderer, sameNumbers } from './choose';
import type { Cloud } from './cloud';
import { HIDDEN, Styles } from './emphasis';
import { Motion } from './motion';
import { drawOverlay } from './overlay';
import { around, pick, pickBox, pickLasso, type Lasso, type PixelBox } from './picking';
import { Pixels, type Drawn } from './pixels';
import type { Renderer, Shot } from './renderer';

/** How points are asked for: as they are, as density, or as suits their number. */
export type Manner = 'auto' | 'points' | 'density';

/** What is to be seen. */
export interface Shown {
  readonly cloud: Cloud;
  readonly state: ScatterState;
  readonly camera: Camera;
  readonly choice: Choice;
  readonly found: ReadonlySet<number>;
  /** One byte a point, 1 where it is shown; null where all are. */
  readonly shown: Uint8Array | null;
  /** Red, green, blue and shape of each point; null where all have one colour. */
  readonly colours: Uint8Array | null;
  /** Whether names have the colours of their points. */
  readonly coloured: boolean;
  /** What names a point. */
  readonly nameOf: (point: number) => string;
  readonly pointed: number | null;
  readonly box: PixelBox | null;
  readonly lasso: Lasso | null;
  readonly manner: Manner;
  /** Whether points are asked for as pictures. */
  readonly pictures: boolean;
  /** Whether names are asked for. */
  readonly labels: boolean;
  readonly theme: Theme;
}

/** What the styles were made from. */
interface Last {
  shown?: Uint8Array | null;
  readonly colours?: Uint8Array | null;
  readonly theme?: Theme;
  readonly cloud?: Cloud;
  readonly bright?: readonly number[] | ReadonlySet<number>;
}

/** With more points in the picture density says more than they do; with fewer, points. Between them nothing changes. */
const DENSE = 60_000;
const SPARSE = 40_000;

/** So many points and more are drawn pixel by pixel where that is faster. */
const MANY = 30_000;

/** Draws points. */
export class Stage {
  readonly canvas = h('canvas', { 'data-testid': 'wb-points' });
  /** Colour and emphasis of each point, as it was drawn last. */
  styles = new Styles(0);
  /** How the points were drawn last. */
  drawnAs: 'points' | 'density' = 'points';
  private renderer: Renderer | null = null;
  private readonly pixels = new Pixels();
  private readonly motion = new Motion();
  private readonly sheet = h('canvas');
  private cloud: Cloud | null = null;
  private at: Projection | null = null;
  private radius = 0;
  /** Categories of which no point is to be seen: their names are not, either. */
  private unseen: ReadonlySet<number> = new Set();
  private last: Last = {};

  constructor(private readonly again: () => void) {}

  /** Takes a renderer, and returns what a person should know of the choice. */
  choose(wish: 'auto' | 'canvas', cloud: Cloud | null): string {
    this.renderer?.destroy();
    const [renderer, why] = makeRenderer(wish);
    this.renderer = renderer;
    if (cloud) {
      renderer.setCloud(cloud);
      renderer.setStyles(this.styles, { from: 0, to: this.styles.count });
    }
    return why;
  }

  /** What draws. */
  get kind(): Renderer['kind'] | null {
    return this.renderer?.kind ?? null;
  }

  /** Takes other points. */
  setCloud(cloud: Cloud): void {
    this.cloud = cloud;
    this.styles = new Styles(cloud.count);
    this.last = {};
    this.motion.put(cloud.positions);
    this.renderer?.setCloud(cloud);
  }

  /** Takes other places of the same points, which move there. */
  moveCloud(cloud: Cloud): void {
    const lost = cloud.lost > 0 || (this.cloud?.lost ?? 0) > 0;
    this.cloud = cloud;
    this.motion.go(cloud.positions, performance.now());
    if (!this.motion.moving) {
      this.renderer?.setPositions(cloud.positions);
    }
    if (lost) {
      // Points may have lost their place, or found one.
      delete this.last.shown;
    }
  }

  /** Whether a point is shown. */
  shows(point: number): boolean {
    return this.styles.mode(point) !== HIDDEN;
  }

  /** The point at a pixel of the last picture. */
  pick(x: number, y: number, reach: number): number | null {
    return this.at && pick(this.drawn, this.styles, this.at, x, y, reach);
  }

  /** The points of the last picture inside of a rectangle or a lasso. */
  caught(area: PixelBox | Lasso): number[] {
    if (!this.at) {
      return [];
    }
    return 'left' in area
      ? pickBox(this.drawn, this.styles, this.at, area)
      : pickLasso(this.drawn, this.styles, this.at, area);
  }

  /** The rectangle of the last picture around some points; null where none of them is shown. */
  boxOf(points: readonly number[]): PixelBox | null {
    const line: number[] = [];
    for (const point of this.at ? points : []) {
      if (this.shows(point)) {
        const [x, y] = this.spotOf(point);
        line.push(x, y);
      }
    }
    return line.length > 0 ? around(line) : null;
  }

  /** Where a point lies in the last picture: pixels, depth, and its radius in pixels. */
  spotOf(point: number): readonly [number, number, number, number] {
    const { positions } = this.motion;
    const from = point * 3;
    const [x, y, depth, size] = this.at
      ? project(this.at, positions[from]!, positions[from + 1]!, positions[from + 2]!)
      : [0, 0, 0, 0];
    return [x, y, depth, size * this.radius];
  }

  /** Draws one picture, and returns where points landed. */
  draw(shown: Shown, width: number, height: number): Projection {
    const { cloud, camera, theme } = shown;
    const at = (this.at = projection(camera, width, height));
    const { renderer } = this;
    if (!renderer) {
      return at;
    }
    this.refresh(shown);
    if (this.motion.step(performance.now())) {
      renderer.setPositions(this.motion.positions);
      this.again();
    }
    const changed = this.styles.takeStale();
    if (changed) {
      renderer.setStyles(this.styles, changed);
    }
    const context = fitCanvas(this.canvas, width, height);
    const pictures = shown.pictures && renderer.canDrawPictures;
    const shot = {
      projection: at,
      width,
      height,
      ratio: this.canvas.width / width,
      radius: pointRadius(cloud.count, camera),
      pictures,
      // Far points fade where there is a far.
      fog: 0.5 * (1 - camera.flat),
      paper: theme.paper
    };
    this.radius = shot.radius;
    this.drawPoints(context, shot, shown, renderer);
    drawOverlay(
      context,
      {
        cloud,
        positions: this.motion.positions,
        styles: this.styles,
        projection: at,
        width,
        height,
        radius: pictures ? shot.radius * 3 : shot.radius,
        selected: shown.choice.points,
        near: shown.choice.near(shown.state),
        found: shown.found,
        pointed: shown.pointed,
        hidden: this.unseen,
        nameOf: shown.nameOf,
        labels: shown.labels,
        box: shown.box,
        lasso: shown.lasso,
        colours: shown.coloured ? cloud.names.map((_, index) => categoryColour(index, theme.dark)) : []
      },
      theme
    );
    return at;
  }

  /** Gives the renderer back. */
  destroy(): void {
    this.renderer?.destroy();
    this.renderer = null;
  }

  private get drawn(): Drawn {
    return {
      count: this.cloud?.count ?? 0,
      positions: this.motion.positions,
      weights: this.cloud?.weights ?? null
    };
  }

  private drawPoints(context: CanvasRenderingContext2D, shot: Shot, shown: Shown, renderer: Renderer): void {
    const { pixels, styles, drawn } = this;
    const { cloud } = shown;
    this.drawnAs = this.densely(shot, shown) ? 'density' : 'points';
    if (this.drawnAs === 'density') {
      this.put(context, pixels.density(drawn, styles, shot, cellRadius(cloud, shot)), shot);
    } else if (cloud.count >= MANY && renderer.slow && !shot.pictures) {
      pixels.place(drawn, styles, shot, shot.ratio);
      this.put(context, pixels.dots(drawn, styles, shot, shot.ratio), shot);
    } else {
      context.imageSmoothingEnabled = true;
      renderer.draw(context, shot, styles);
    }
  }

  /** Whether this picture is one of density, for which points then have their pixels. */
  private densely(shot: Shot, { manner, cloud }: Shown): boolean {
    const must = cloud.weights !== null || manner === 'density';
    if (!must && (manner === 'points' || cloud.count <= SPARSE || shot.pictures)) {
      return false;
    }
    const inside = this.pixels.place(this.drawn, this.styles, shot, 1);
    return must || inside > (this.drawnAs === 'density' ? SPARSE : DENSE);
  }

  private put(context: CanvasRenderingContext2D, image: ImageData, shot: Shot): void {
    const { sheet } = this;
    if (sheet.width !== image.width || sheet.height !== image.height) {
      sheet.width = image.width;
      sheet.height = image.height;
    }
    sheet.getContext('2d')?.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.drawImage(sheet, 0, 0, shot.width, shot.height);
  }

  /** Brings the styles up to date: colours, what is hidden, what stands out, each where it changed. */
  private refresh(shown: Shown): void {
    const { last, styles } = this;
    const { cloud, theme, choice } = shown;
    const { positions } = this.motion;
    if (
      last.colours !== shown.colours ||
      last.theme?.dark !== theme.dark ||
      last.theme.accent !== theme.accent
    ) {
      // A theme may give its accent in words that only CSS understands.
      styles.paint(shown.colours, parseColour(theme.accent) ?? rgb('#1976d2'));
    }
    const hidden = last.shown !== shown.shown;
    if (hidden) {
      styles.hide(this.cloud?.positions ?? positions, shown.shown);
    }
    if (hidden || last.cloud?.categories !== cloud.categories) {
      this.unseen = unseen(cloud, styles);
    }
    const bright = choice.points.length > 0 ? [...choice.points, ...choice.near(shown.state)] : shown.found;
    if (!alike(last.bright, bright)) {
      styles.raise(bright);
    }
    this.last = { colours: shown.colours, theme, shown: shown.shown, cloud, bright };
  }
}

/** Categories of which no point is shown. */
function unseen(cloud: Cloud, styles: Styles): ReadonlySet<number> {
  const seen = new Uint8Array(65_536);
  cloud.categories?.forEach((category, point) => {
    if (styles.mode(point) !== HIDDEN) {
      seen[category] = 1;
    }
  });
  return new Set([...cloud.names.keys()].filter(category => seen[category] === 0));
}

function alike(
  a: readonly number[] | ReadonlySet<number> | undefined,
  b: readonly number[] | ReadonlySet<number>
): boolean {
  return a === b || (Array.isArray(a) && Array.isArray(b) && sameNumbers(a as number[], b as number[]));
}

/** Half of the side of a cell in pixels, where the drawn stand for cells. */
function cellRadius(cloud: Cloud, shot: Shot): number {
  return cloud.cell === 0 ? 0 : (cloud.cell * shot.projection.unit) / 2;
}
