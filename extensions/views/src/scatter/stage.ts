/** The canvas of the projector: the renderer in use, the points' styles, and what is drawn over them. */
import type { ScatterState } from '../protocol';
import { categoryColour, hex, rgb } from '../common/colours';
import { h } from '../common/dom';
import { fitCanvas } from '../common/raster';
import { parseColour, type Theme } from '../common/theme';
import { pointRadius, projection, type Camera, type Projection } from './camera';
import type { Choice } from './choice';
import { makeRenderer } from './choose';
import { HIDDEN, stylePoints, type Cloud } from './cloud';
import type { PixelBox } from './gestures';
import { drawOverlay } from './overlay';
import type { Renderer } from './renderer';

/** What is to be seen. */
export interface Shown {
  readonly cloud: Cloud;
  readonly state: ScatterState;
  readonly camera: Camera;
  readonly choice: Choice;
  readonly found: ReadonlySet<number>;
  /** One byte a point, 1 where it is shown; null where all are. */
  readonly shown: Uint8Array | null;
  /** Red, green and blue of each point; null where all have one colour. */
  readonly colours: Uint8Array | null;
  /** Whether names have the colours of their points. */
  readonly coloured: boolean;
  readonly pointed: number | null;
  readonly box: PixelBox | null;
  /** Whether points are asked for as pictures. */
  readonly pictures: boolean;
  /** Whether the names of the categories are asked for. */
  readonly labels: boolean;
  readonly theme: Theme;
}

/** Draws points. */
export class Stage {
  readonly canvas = h('canvas', { 'data-testid': 'wb-points' });
  /** Colour and strength of each point, as it was drawn last. */
  styles: Uint8Array = new Uint8Array();
  private renderer: Renderer | null = null;
  private stale = true;
  /** Categories of which no point is to be seen: their names are not, either. */
  private unseen: ReadonlySet<number> = new Set();

  /** Takes a renderer, and returns what a person should know of the choice. */
  choose(wish: 'auto' | 'canvas', cloud: Cloud | null): string {
    this.renderer?.destroy();
    const [renderer, why] = makeRenderer(wish);
    this.renderer = renderer;
    if (cloud) {
      renderer.setCloud(cloud);
    }
    this.stale = true;
    return why;
  }

  /** What draws. */
  get kind(): Renderer['kind'] | null {
    return this.renderer?.kind ?? null;
  }

  /** Takes other points. */
  setCloud(cloud: Cloud): void {
    this.renderer?.setCloud(cloud);
  }

  /** Has the points' styles made anew for the next picture. */
  restyle(): void {
    this.stale = true;
  }

  /** Draws one picture, and returns where points landed. */
  draw(shown: Shown, width: number, height: number): Projection {
    const { cloud, camera, theme } = shown;
    const at = projection(camera, width, height);
    const { renderer } = this;
    if (!renderer) {
      return at;
    }
    if (this.stale) {
      this.stale = false;
      this.refreshStyles(shown, renderer);
    }
    const context = fitCanvas(this.canvas, width, height);
    const radius = pointRadius(cloud.count, camera);
    const pictures = shown.pictures && renderer.canDrawPictures;
    context.imageSmoothingEnabled = true;
    renderer.draw(context, {
      projection: at,
      width,
      height,
      ratio: this.canvas.width / width,
      radius,
      pictures,
      // Far points fade where there is a far.
      fog: 0.5 * (1 - camera.flat),
      paper: theme.paper
    });
    const selected = shown.choice.points;
    drawOverlay(
      context,
      {
        cloud,
        styles: this.styles,
        projection: at,
        radius: pictures ? radius * 3 : radius,
        selected,
        near: shown.choice.near(shown.state),
        pointed: shown.pointed,
        hidden: this.unseen,
        // Where something stands out, names would cover it.
        labels: shown.labels && cloud.categories !== null && selected.length === 0 && shown.found.size === 0,
        box: shown.box,
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

  private refreshStyles(shown: Shown, renderer: Renderer): void {
    const { choice, theme } = shown;
    const bright =
      choice.points.length > 0 ? new Set([...choice.points, ...choice.near(shown.state)]) : shown.found;
    // A theme may give its accent in words that only CSS understands.
    const accent = parseColour(theme.accent);
    const plain = accent ? hex(accent) : '#1976d2';
    const { colours } = shown;
    this.styles = stylePoints(shown.cloud, { shown: shown.shown, bright, colours }, hex(rgb(plain)));
    this.unseen = unseen(shown.cloud, this.styles);
    renderer.setStyles(this.styles);
  }
}

function unseen(cloud: Cloud, styles: Uint8Array): ReadonlySet<number> {
  const left = new Set(cloud.names.keys());
  cloud.categories?.forEach((category, point) => {
    if (styles[point * 4 + 3] !== HIDDEN) {
      left.delete(category);
    }
  });
  return left;
}
