/** What draws points, and the way without WebGL. */
import type { Rgb } from '../common/colours';
import type { Projection } from './camera';
import type { Cloud } from './cloud';
import { BRIGHT, HIDDEN, type Span, type Styles } from './emphasis';
import { inset } from './shapes';

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
  /** Whether very many points are drawn faster pixel by pixel. */
  readonly slow: boolean;
  setCloud(cloud: Cloud): void;
  /** Takes other places of the same points. */
  setPositions(positions: Float32Array): void;
  /** Hears which points' styles have changed. */
  setStyles(styles: Styles, changed: Span): void;
  draw(context: CanvasRenderingContext2D, shot: Shot, styles: Styles): void;
  destroy(): void;
}

/** With more points than this thumbnails would be a blur and slow: discs are drawn. */
const PICTURE_LIMIT = 12_000;

/** How finely points are sorted by depth. */
const DEPTH_STEPS = 1024;

/** Draws with the 2-D canvas alone: discs are written pixel by pixel, which is far faster than the canvas's own. */
export class CanvasRenderer implements Renderer {
  readonly kind = 'canvas';
  readonly canDrawPictures = true;
  readonly slow = true;
  private cloud: Cloud | null = null;
  private positions: Float32Array = new Float32Array();
  private x = new Float32Array();
  private y = new Float32Array();
  private depth = new Float32Array();
  private size = new Float32Array();
  private order = new Uint32Array();
  private image: ImageData | null = null;
  private tiles: HTMLCanvasElement | null = null;

  setCloud(cloud: Cloud): void {
    this.cloud = cloud;
    this.positions = cloud.positions;
    this.tiles = null;
    this.x = new Float32Array(cloud.count);
    this.y = new Float32Array(cloud.count);
    this.depth = new Float32Array(cloud.count);
    this.size = new Float32Array(cloud.count);
    this.order = new Uint32Array(cloud.count);
  }

  setPositions(positions: Float32Array): void {
    this.positions = positions;
  }

  setStyles(): void {
    // They are read as they are, at each picture.
  }

  draw(context: CanvasRenderingContext2D, shot: Shot, styles: Styles): void {
    const { cloud } = this;
    if (!cloud) {
      return;
    }
    const shown = this.arrange(cloud, shot, styles);
    if (shot.pictures && cloud.sprite && shown.length <= PICTURE_LIMIT) {
      this.drawPictures(context, cloud, shown, styles);
    } else {
      this.drawDiscs(context, shot, shown, styles);
    }
  }

  destroy(): void {
    this.cloud = null;
    this.image = null;
    this.tiles = null;
  }

  /** Projects all points; returns those in the picture, the farthest first and what stands out last. */
  private arrange({ count }: Cloud, shot: Shot, styles: Styles): Uint32Array {
    const { rows: r, perspective, unit, centerX, centerY } = shot.projection;
    const { x, y, depth, size, positions } = this;
    // Sorted by counting, in time that grows with the points alone: every frame does it.
    const starts = new Uint32Array(DEPTH_STEPS + 2);
    const step = new Uint16Array(count);
    for (let point = 0; point < count; point++) {
      const mode = styles.mode(point);
      if (mode === HIDDEN) {
        continue;
      }
      const [px, py, pz] = [positions[point * 3]!, positions[point * 3 + 1]!, positions[point * 3 + 2]!];
      const near = r[6]! * px + r[7]! * py + r[8]! * pz;
      // As `project` and the shader have it.
      const scale = 1 / Math.max(0.2, 1 - near * perspective);
      const across = centerX + (r[0]! * px + r[1]! * py + r[2]! * pz) * unit * scale;
      const down = centerY - (r[3]! * px + r[4]! * py + r[5]! * pz) * unit * scale;
      if (across < -20 || down < -20 || across > shot.width + 20 || down > shot.height + 20) {
        continue;
      }
      x[point] = across;
      y[point] = down;
      depth[point] = near;
      size[point] = scale;
      // Step 0 means that a point is not in the picture.
      const place = Math.floor(((Math.min(1.5, Math.max(-1.5, near)) + 1.5) / 3) * (DEPTH_STEPS - 2)) + 1;
      step[point] = mode === BRIGHT ? DEPTH_STEPS : place;
      starts[step[point]! + 1]! += 1;
    }
    for (let at = 1; at < starts.length; at++) {
      starts[at]! += starts[at - 1]!;
    }
    const total = starts[DEPTH_STEPS + 1]!;
    for (let point = 0; point < count; point++) {
      if (step[point]! > 0) {
        this.order[starts[step[point]!]!++] = point;
      }
    }
    return this.order.subarray(0, total);
  }

  private drawDiscs(context: CanvasRenderingContext2D, shot: Shot, shown: Uint32Array, styles: Styles): void {
    const width = Math.max(1, Math.round(shot.width * shot.ratio));
    const height = Math.max(1, Math.round(shot.height * shot.ratio));
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
    } else {
      this.image.data.fill(0);
    }
    const { data } = this.image;
    const { bytes } = styles;
    const [red, green, blue] = shot.paper;
    for (let at = 0; at < shown.length; at++) {
      const point = shown[at]!;
      const bright = styles.mode(point) === BRIGHT;
      const fade = shot.fog * (1 - (Math.min(1, Math.max(-1, this.depth[point]!)) + 1) / 2);
      disc(
        data,
        width,
        height,
        styles.shape(point),
        this.x[point]! * shot.ratio,
        this.y[point]! * shot.ratio,
        shot.radius * this.size[point]! * shot.ratio * (bright ? 1.5 : 1),
        bytes[point * 4]! + (red - bytes[point * 4]!) * fade,
        bytes[point * 4 + 1]! + (green - bytes[point * 4 + 1]!) * fade,
        bytes[point * 4 + 2]! + (blue - bytes[point * 4 + 2]!) * fade,
        styles.dimmed && !bright ? 0.2 : 1
      );
    }
    context.putImageData(this.image, 0, 0);
  }

  private drawPictures(
    context: CanvasRenderingContext2D,
    cloud: Cloud,
    shown: Uint32Array,
    styles: Styles
  ): void {
    const tiles = (this.tiles ??= spriteCanvas(cloud));
    const sprite = cloud.sprite!;
    for (const point of shown) {
      const side = 20 * this.size[point]!;
      const left = (point % sprite.columns) * sprite.width;
      const top = Math.floor(point / sprite.columns) * sprite.height;
      context.globalAlpha = styles.dimmed && styles.mode(point) !== BRIGHT ? 0.25 : 1;
      context.drawImage(
        tiles,
        left,
        top,
        sprite.width,
        sprite.height,
        this.x[point]! - side / 2,
        this.y[point]! - side / 2,
        side,
        side
      );
    }
    context.globalAlpha = 1;
  }
}

/** Writes one point with a soft edge and a darker rim into pixels that are not premultiplied. */
function disc(
  data: Uint8ClampedArray,
  width: number,
  height: number,
  shape: number,
  x: number,
  y: number,
  radius: number,
  red: number,
  green: number,
  blue: number,
  alpha: number
): void {
  const left = Math.max(0, Math.floor(x - radius));
  const right = Math.min(width - 1, Math.ceil(x + radius));
  const top = Math.max(0, Math.floor(y - radius));
  const bottom = Math.min(height - 1, Math.ceil(y + radius));
  // Small points would be all rim.
  const rim = radius > 2.2 ? radius * 0.26 : -1;
  for (let row = top; row <= bottom; row++) {
    const down = row + 0.5 - y;
    for (let column = left; column <= right; column++) {
      const across = column + 0.5 - x;
      const inner =
        shape === 0
          ? radius - Math.sqrt(across * across + down * down)
          : inset(shape, across / radius, down / radius) * radius;
      const cover = Math.min(1, inner + 0.5) * alpha;
      if (cover <= 0.03) {
        continue;
      }
      const shade = inner < rim ? 0.8 : 1;
      const to = (row * width + column) * 4;
      // Put over what is there by hand: putImageData does not blend.
      const below = data[to + 3]! / 255;
      const keep = below * (1 - cover);
      const total = cover + keep;
      data[to] = (red * shade * cover + data[to]! * keep) / total;
      data[to + 1] = (green * shade * cover + data[to + 1]! * keep) / total;
      data[to + 2] = (blue * shade * cover + data[to + 2]! * keep) / total;
      data[to + 3] = total * 255;
    }
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
    const { data } = image;
    const pixels = cloud.pixels!;
    const { channels } = sprite;
    for (let at = 0, from = 0; at < data.length; at += 4, from += channels) {
      data[at] = pixels[from]!;
      data[at + 1] = pixels[channels === 3 ? from + 1 : from]!;
      data[at + 2] = pixels[channels === 3 ? from + 2 : from]!;
      data[at + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }
  return canvas;
}
