/** What draws points, and the way without WebGL. */
import type { Rgb } from '../common/colours';
import { project, type Projection } from './camera';
import { BRIGHT, DIM, HIDDEN, type Cloud } from './cloud';

/** One frame. */
export interface Shot {
  readonly projection: Projection;
  readonly width: number;
  readonly height: number;
  /** Real pixels a CSS pixel. */
  readonly ratio: number;
  readonly radius: number;
  /** Draw thumbnails instead of discs. */
  readonly pictures: boolean;
  /** How much far points fade into the background, 0 to 1. */
  readonly fog: number;
  readonly paper: Rgb;
}

/** Draws one cloud onto a 2-D canvas. */
export interface Renderer {
  readonly kind: 'webgl' | 'canvas';
  /** Whether thumbnails can stand for points. */
  readonly canDrawPictures: boolean;
  setCloud(cloud: Cloud): void;
  setStyles(styles: Uint8Array): void;
  draw(context: CanvasRenderingContext2D, shot: Shot): void;
  destroy(): void;
}

/** More points than this are written as pixels instead of discs. */
const DISC_LIMIT = 24_000;

/** Draws with the 2-D canvas alone. */
export class CanvasRenderer implements Renderer {
  readonly kind = 'canvas';
  readonly canDrawPictures = true;
  private cloud: Cloud | null = null;
  private styles: Uint8Array = new Uint8Array();
  private readonly discs = new Map<number, HTMLCanvasElement>();
  private tiles: HTMLCanvasElement | null = null;

  setCloud(cloud: Cloud): void {
    this.cloud = cloud;
    this.tiles = null;
  }

  setStyles(styles: Uint8Array): void {
    this.styles = styles;
  }

  draw(context: CanvasRenderingContext2D, shot: Shot): void {
    const { cloud } = this;
    if (!cloud) {
      return;
    }
    const { count, positions } = cloud;
    const x = new Float32Array(count);
    const y = new Float32Array(count);
    const depth = new Float32Array(count);
    const size = new Float32Array(count);
    const order: number[] = [];
    for (let point = 0; point < count; point++) {
      if (this.styles[point * 4 + 3] === HIDDEN) {
        continue;
      }
      const [px, py, pz, ps] = project(
        shot.projection,
        positions[point * 3]!,
        positions[point * 3 + 1]!,
        positions[point * 3 + 2]!
      );
      if (px > -20 && py > -20 && px < shot.width + 20 && py < shot.height + 20) {
        x[point] = px;
        y[point] = py;
        depth[point] = pz;
        size[point] = ps;
        order.push(point);
      }
    }
    const rank = (point: number): number => depth[point]! + (this.styles[point * 4 + 3] === BRIGHT ? 10 : 0);
    order.sort((a, b) => rank(a) - rank(b));
    if (shot.pictures && cloud.sprite && order.length <= DISC_LIMIT) {
      this.drawPictures(context, cloud, order, x, y, size);
    } else if (order.length <= DISC_LIMIT) {
      this.drawDiscs(context, shot, order, x, y, depth, size);
    } else {
      this.drawPixels(context, shot, order, x, y);
    }
    context.globalAlpha = 1;
  }

  destroy(): void {
    this.discs.clear();
    this.cloud = null;
  }

  private drawDiscs(
    context: CanvasRenderingContext2D,
    shot: Shot,
    order: readonly number[],
    x: Float32Array,
    y: Float32Array,
    depth: Float32Array,
    size: Float32Array
  ): void {
    for (const point of order) {
      const style = this.styles[point * 4 + 3]!;
      const radius = shot.radius * size[point]! * (style === BRIGHT ? 1.5 : 1);
      const disc = this.disc(point);
      context.globalAlpha =
        style === DIM ? 0.22 : 1 - shot.fog * (1 - (Math.min(1, Math.max(-1, depth[point]!)) + 1) / 2);
      context.drawImage(disc, x[point]! - radius, y[point]! - radius, 2 * radius, 2 * radius);
    }
  }

  /** A disc of a colour, drawn once and then stamped. */
  private disc(point: number): HTMLCanvasElement {
    const [red, green, blue] = [
      this.styles[point * 4]!,
      this.styles[point * 4 + 1]!,
      this.styles[point * 4 + 2]!
    ];
    const key = (red << 16) | (green << 8) | blue;
    let disc = this.discs.get(key);
    if (!disc) {
      disc = document.createElement('canvas');
      disc.width = disc.height = 32;
      const pen = disc.getContext('2d');
      if (pen) {
        pen.fillStyle = `rgb(${red * 0.78}, ${green * 0.78}, ${blue * 0.78})`;
        pen.beginPath();
        pen.arc(16, 16, 15.5, 0, 7);
        pen.fill();
        pen.fillStyle = `rgb(${red}, ${green}, ${blue})`;
        pen.beginPath();
        pen.arc(16, 16, 12, 0, 7);
        pen.fill();
      }
      this.discs.set(key, disc);
    }
    return disc;
  }

  private drawPictures(
    context: CanvasRenderingContext2D,
    cloud: Cloud,
    order: readonly number[],
    x: Float32Array,
    y: Float32Array,
    size: Float32Array
  ): void {
    const tiles = (this.tiles ??= spriteCanvas(cloud));
    const sprite = cloud.sprite!;
    for (const point of order) {
      const side = 20 * size[point]!;
      const left = (point % sprite.columns) * sprite.width;
      const top = Math.floor(point / sprite.columns) * sprite.height;
      context.globalAlpha = this.styles[point * 4 + 3] === DIM ? 0.25 : 1;
      context.drawImage(
        tiles,
        left,
        top,
        sprite.width,
        sprite.height,
        x[point]! - side / 2,
        y[point]! - side / 2,
        side,
        side
      );
    }
  }

  private drawPixels(
    context: CanvasRenderingContext2D,
    shot: Shot,
    order: readonly number[],
    x: Float32Array,
    y: Float32Array
  ): void {
    const width = Math.round(shot.width * shot.ratio);
    const height = Math.round(shot.height * shot.ratio);
    const image = context.getImageData(0, 0, width, height);
    const words = new Uint32Array(image.data.buffer);
    const side = Math.max(1, Math.round(shot.radius * shot.ratio));
    for (const point of order) {
      const style = this.styles[point * 4 + 3]!;
      const colour =
        ((style === DIM ? 90 : 255) << 24) |
        (this.styles[point * 4 + 2]! << 16) |
        (this.styles[point * 4 + 1]! << 8) |
        this.styles[point * 4]!;
      const left = Math.round(x[point]! * shot.ratio - side / 2);
      const top = Math.round(y[point]! * shot.ratio - side / 2);
      for (let row = Math.max(0, top); row < Math.min(height, top + side); row++) {
        for (let column = Math.max(0, left); column < Math.min(width, left + side); column++) {
          words[row * width + column] = colour;
        }
      }
    }
    context.putImageData(image, 0, 0);
  }
}

/** Whether thumbnails are bright strokes on black, so that black can be left out. */
export function darkGround(pixels: Uint8Array): boolean {
  let sum = 0;
  const step = Math.max(1, Math.floor(pixels.length / 20_000));
  let seen = 0;
  for (let index = 0; index < pixels.length; index += step) {
    sum += pixels[index]!;
    seen += 1;
  }
  return sum / Math.max(1, seen) < 90;
}

function spriteCanvas(cloud: Cloud): HTMLCanvasElement {
  const sprite = cloud.sprite!;
  const canvas = document.createElement('canvas');
  canvas.width = sprite.columns * sprite.width;
  canvas.height = sprite.rows * sprite.height;
  const context = canvas.getContext('2d');
  if (context) {
    const image = context.createImageData(canvas.width, canvas.height);
    cloud.pixels!.forEach((value, index) => {
      image.data.fill(value, index * 4, index * 4 + 3);
      image.data[index * 4 + 3] = 255;
    });
    context.putImageData(image, 0, 0);
  }
  return canvas;
}
