/**
 * Very many points, written pixel by pixel: as dots, the nearest in front, or as density. Where the processor has to
 * play the graphics card this is ten times as fast as WebGL.
 */
import type { Rgb } from '../common/colours';
import { BRIGHT, HIDDEN, type Styles } from './emphasis';
import type { Shot } from './renderer';

/** The points that are drawn. */
export interface Drawn {
  readonly count: number;
  readonly positions: Float32Array;
  /** How many points each of them stands for; null where it is one. */
  readonly weights: Uint32Array | null;
}

/** The share of its colour that a dimmed dot keeps. */
const DIMMED = 0.22;

/** How opaque the thinnest density is: a single point must be seen. */
const FAINTEST = 0.3;

/** The pixels of one picture. */
export class Pixels {
  private cells = new Int32Array();
  private depths = new Float32Array();
  private sums = new Float32Array();
  private front = new Float32Array();
  private image: ImageData | null = null;
  private width = 0;
  private height = 0;

  /** Finds the pixel of each point, `ratio` pixels to a CSS pixel; returns how many points land in the picture. */
  place(drawn: Drawn, styles: Styles, shot: Shot, ratio: number): number {
    const { count, positions, weights } = drawn;
    if (this.cells.length < count) {
      this.cells = new Int32Array(count);
      this.depths = new Float32Array(count);
    }
    const { cells, depths } = this;
    const { bytes } = styles;
    const width = (this.width = Math.max(1, Math.round(shot.width * ratio)));
    const height = (this.height = Math.max(1, Math.round(shot.height * ratio)));
    const { rows, perspective } = shot.projection;
    const unit = shot.projection.unit * ratio;
    const [centerX, centerY] = [shot.projection.centerX * ratio, shot.projection.centerY * ratio];
    const [r0, r1, r2] = [rows[0]!, rows[1]!, rows[2]!];
    const [r3, r4, r5] = [rows[3]!, rows[4]!, rows[5]!];
    const [r6, r7, r8] = [rows[6]!, rows[7]!, rows[8]!];
    let inside = 0;
    for (let point = 0, at = 0; point < count; point++, at += 3) {
      const px = positions[at]!;
      const py = positions[at + 1]!;
      const pz = positions[at + 2]!;
      const depth = r6 * px + r7 * py + r8 * pz;
      // As `project` and the shader have it.
      const size = unit / Math.max(0.2, 1 - depth * perspective);
      const x = centerX + (r0 * px + r1 * py + r2 * pz) * size;
      const y = centerY - (r3 * px + r4 * py + r5 * pz) * size;
      // What has no place compares with nothing, and is outside, too.
      if (x >= 0 && y >= 0 && x < width && y < height && (bytes[at + point + 3]! & 3) !== HIDDEN) {
        cells[point] = (y | 0) * width + (x | 0);
        depths[point] = depth;
        inside += weights ? weights[point]! : 1;
      } else {
        cells[point] = -1;
      }
    }
    return inside;
  }

  /** Writes each point that was placed as a dot; returns the picture. */
  dots(drawn: Drawn, styles: Styles, shot: Shot, ratio: number): ImageData {
    const image = this.blank();
    const words = new Uint32Array(image.data.buffer);
    if (this.front.length !== words.length) {
      this.front = new Float32Array(words.length);
    }
    const { front, cells, depths, width, height } = this;
    front.fill(-Infinity);
    const { bytes, dimmed } = styles;
    const [red, green, blue] = shot.paper;
    const { perspective } = shot.projection;
    for (let point = 0; point < drawn.count; point++) {
      const cell = cells[point]!;
      if (cell < 0) {
        continue;
      }
      const at = point * 4;
      const bright = (bytes[at + 3]! & 3) === BRIGHT;
      const depth = depths[point]!;
      const size = shot.radius * ratio * (bright ? 1.5 : 1);
      const stamp = stampOf(size / Math.max(0.2, 1 - depth * perspective));
      // A point that stands out lies before all others.
      const near = bright ? depth + 10 : depth;
      const fade = shot.fog * (1 - Math.min(1, Math.max(0, depth * 0.5 + 0.5)));
      const keep = (1 - fade) * (dimmed && !bright ? DIMMED : 1);
      const colour =
        0xff000000 |
        ((bytes[at + 2]! * keep + blue * (1 - keep)) << 16) |
        ((bytes[at + 1]! * keep + green * (1 - keep)) << 8) |
        (bytes[at]! * keep + red * (1 - keep));
      const x = cell % width;
      const y = (cell - x) / width;
      for (let part = 0; part < stamp.length; part += 2) {
        const across = x + stamp[part]!;
        const down = y + stamp[part + 1]!;
        if (across >= 0 && down >= 0 && across < width && down < height) {
          const to = down * width + across;
          if (near > front[to]!) {
            front[to] = near;
            words[to] = colour;
          }
        }
      }
    }
    return image;
  }

  /** Writes how densely the points that were placed lie, in their mean colour; `blur` in pixels to each side. */
  density(drawn: Drawn, styles: Styles, shot: Shot, blur = 0): ImageData {
    const image = this.blank();
    const { cells, width, height } = this;
    const area = width * height;
    if (this.sums.length !== area * 4) {
      this.sums = new Float32Array(area * 4);
    } else {
      this.sums.fill(0);
    }
    const { sums } = this;
    const { bytes, dimmed } = styles;
    const { weights } = drawn;
    for (let point = 0; point < drawn.count; point++) {
      const cell = cells[point]!;
      const at = point * 4;
      if (cell >= 0 && (bytes[at + 3]! & 3) !== BRIGHT) {
        const weight = weights ? weights[point]! : 1;
        const to = cell * 4;
        sums[to]! += bytes[at]! * weight;
        sums[to + 1]! += bytes[at + 1]! * weight;
        sums[to + 2]! += bytes[at + 2]! * weight;
        sums[to + 3]! += weight;
      }
    }
    // What stands for many points is spread over its own size, or it would be a pattern of the grid.
    if (blur > 0) {
      smooth(sums, width, height, Math.min(24, Math.round(blur)));
    }
    this.shade(image.data, shot.paper, dimmed);
    if (dimmed) {
      this.stand(drawn.count, styles, shot.radius * 1.5);
    }
    return image;
  }

  /** Writes what stands out over the density. */
  private stand(count: number, styles: Styles, radius: number): void {
    const words = new Uint32Array(this.image!.data.buffer);
    const { cells, width, height } = this;
    const { bytes } = styles;
    const stamp = stampOf(radius);
    for (let point = 0; point < count; point++) {
      const at = point * 4;
      const cell = cells[point]!;
      if (cell >= 0 && (bytes[at + 3]! & 3) === BRIGHT) {
        const colour = 0xff000000 | (bytes[at + 2]! << 16) | (bytes[at + 1]! << 8) | bytes[at]!;
        const x = cell % width;
        const y = (cell - x) / width;
        for (let part = 0; part < stamp.length; part += 2) {
          const across = x + stamp[part]!;
          const down = y + stamp[part + 1]!;
          if (across >= 0 && down >= 0 && across < width && down < height) {
            words[down * width + across] = colour;
          }
        }
      }
    }
  }

  /** Colours of the sums: the denser the more opaque, by the logarithm, for density spans many powers of ten. */
  private shade(data: Uint8ClampedArray, paper: Rgb, dimmed: boolean): void {
    const { sums } = this;
    const most = crowded(sums);
    const scale = (1 - FAINTEST) / Math.log1p(Math.max(1, most));
    const keep = dimmed ? DIMMED : 1;
    const [red, green, blue] = paper;
    for (let at = 0; at < sums.length; at += 4) {
      const many = sums[at + 3]!;
      if (many > 0) {
        const strength = Math.min(1, many) * FAINTEST + Math.log1p(many) * scale;
        const share = keep / many;
        data[at] = sums[at]! * share + red * (1 - keep);
        data[at + 1] = sums[at + 1]! * share + green * (1 - keep);
        data[at + 2] = sums[at + 2]! * share + blue * (1 - keep);
        data[at + 3] = Math.min(1, strength) * 255;
      }
    }
  }

  private blank(): ImageData {
    if (this.image?.width !== this.width || this.image.height !== this.height) {
      this.image = new ImageData(this.width, this.height);
    } else {
      this.image.data.fill(0);
    }
    return this.image;
  }
}

/** How much the hundredth part of the pixels that have something has at least. */
function crowded(sums: Float32Array): number {
  // By powers of the square root of two: nearer than that nobody can tell.
  const bins = new Uint32Array(128);
  let filled = 0;
  for (let at = 3; at < sums.length; at += 4) {
    const many = sums[at]!;
    if (many > 0) {
      bins[Math.min(127, Math.max(0, Math.ceil(2 * Math.log2(many)) + 32))]! += 1;
      filled += 1;
    }
  }
  let over = 0;
  for (let bin = 127; bin >= 0; bin--) {
    over += bins[bin]!;
    if (over > filled / 100) {
      return 2 ** ((bin - 32) / 2);
    }
  }
  return 1;
}

/** Means over squares, twice, which is near a bell; along rows and then columns. */
function smooth(sums: Float32Array, width: number, height: number, reach: number): void {
  const line = new Float32Array(Math.max(width, height));
  const run = (start: number, step: number, length: number): void => {
    const part = 1 / (2 * reach + 1);
    let sum = 0;
    for (let at = 0; at < length; at++) {
      line[at] = sums[start + at * step]!;
    }
    for (let at = -reach; at < length; at++) {
      sum += at + reach < length ? line[at + reach]! : 0;
      sum -= at - reach - 1 >= 0 ? line[at - reach - 1]! : 0;
      if (at >= 0) {
        sums[start + at * step] = sum > 1e-4 ? sum * part : 0;
      }
    }
  };
  for (let round = 0; round < 2; round++) {
    for (let channel = 0; channel < 4; channel++) {
      for (let row = 0; row < height; row++) {
        run(row * width * 4 + channel, 4, width);
      }
      for (let column = 0; column < width; column++) {
        run(column * 4 + channel, width * 4, height);
      }
    }
  }
}

const STAMPS: Int8Array[] = [];

/** The pixels of a dot around its middle, x and y by turns. */
function stampOf(radius: number): Int8Array {
  // In halves of a pixel; a dot is at most sixteen to each side.
  const halves = Math.max(1, Math.min(32, Math.round(radius * 2)));
  return (STAMPS[halves] ??= makeStamp(halves / 2));
}

function makeStamp(radius: number): Int8Array {
  const reach = Math.floor(radius);
  const parts: number[] = [];
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      if (x * x + y * y <= radius * radius) {
        parts.push(x, y);
      }
    }
  }
  return Int8Array.from(parts);
}
