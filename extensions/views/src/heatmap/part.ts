/** What the three forms of an input (a picture, words, lines) have in common. */
import type { HeatmapPart } from '../protocol';
import { float32 } from '../common/buffers';
import { h } from '../common/dom';
import { dimensionText } from '../common/parts';
import type { Theme } from '../common/theme';
import type { Sign, Tone } from './tone';

/** A cell of an input. */
export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** One input with its attributions, as arrays. */
export interface PartData {
  readonly part: HeatmapPart;
  /** float32 [height, width, channels]. */
  readonly values: Float32Array;
  /** One [height, width] for each model, and last their difference where there are two. */
  readonly maps: readonly { readonly name: string; readonly kind: MapKind; readonly values: Float32Array }[];
}

/** What a map shows: the model's attributions, those of the other, or the one less the other. */
export type MapKind = 'map' | 'other' | 'difference';

/** Names of the two models, for captions. */
export interface ModelNames {
  readonly first: string;
  readonly other: string | null;
}

/** Reads a part out of its buffers. */
export function decodePart(part: HeatmapPart, buffers: readonly DataView[], names: ModelNames): PartData {
  const cells = part.height * part.width;
  const values = float32(buffers, part.input_buffer, cells * part.channels, 'the input');
  const maps: { name: string; kind: MapKind; values: Float32Array }[] = [];
  if (part.attribution_buffer !== null) {
    const first = float32(buffers, part.attribution_buffer, cells, 'the attribution').subarray(0, cells);
    maps.push({ name: part.other_buffer === null ? 'attribution' : names.first, kind: 'map', values: first });
    if (part.other_buffer !== null) {
      const other = float32(buffers, part.other_buffer, cells, 'the other attribution').subarray(0, cells);
      maps.push({ name: names.other ?? 'other', kind: 'other', values: other });
      const difference = other.map((value, at) => value - first[at]!);
      maps.push({
        name: `${names.other ?? 'other'} − ${names.first}`,
        kind: 'difference',
        values: difference
      });
    }
  }
  return { part, values, maps };
}

/** How far the map reaches, over all inputs and both models: one scale, or they could not be compared. */
export class Reaches {
  private readonly sorted: Float32Array;
  private readonly sizesOf = new Map<Sign, Float32Array>();

  constructor(parts: readonly PartData[]) {
    this.sorted = sortedValues(parts);
  }

  /** The given percentile of the sizes of what is drawn. */
  at(sign: Sign, percentile: number): number {
    const sizes = this.sizes(sign);
    if (sizes.length === 0) {
      return 1;
    }
    const index = Math.min(sizes.length - 1, Math.max(0, Math.ceil((percentile / 100) * sizes.length) - 1));
    // A map that reaches to zero would show nothing: the greatest value stands in.
    return sizes[index]! || sizes.at(-1)! || 1;
  }

  /** The sizes in their order, worked out once for each sign: a hand on the slider for percentiles then costs nothing. */
  private sizes(sign: Sign): Float32Array {
    const known = this.sizesOf.get(sign);
    if (known) {
      return known;
    }
    const found = sizesInOrder(this.sorted, sign);
    this.sizesOf.set(sign, found);
    return found;
  }
}

/** All finite values of the maps, from the least to the greatest. */
function sortedValues(parts: readonly PartData[]): Float32Array {
  const all = parts.flatMap(one => one.maps.filter(map => map.kind !== 'difference').map(map => map.values));
  const values = new Float32Array(all.reduce((count, one) => count + one.length, 0));
  let count = 0;
  for (const one of all) {
    for (const value of one) {
      if (Number.isFinite(value)) {
        values[count++] = value;
      }
    }
  }
  return values.subarray(0, count).sort();
}

/** The sizes of what is drawn of sorted values, sorted too: another sign is looked at without sorting again. */
export function sizesInOrder(sorted: Float32Array, sign: Sign): Float32Array {
  const count = sorted.length;
  const sizes = new Float32Array(count);
  if (sign === 'positive' || sign === 'negative') {
    for (let at = 0; at < count; at++) {
      sizes[at] = sign === 'positive' ? Math.max(0, sorted[at]!) : Math.max(0, -sorted[count - 1 - at]!);
    }
    return sizes;
  }
  // The largest sizes stand at both ends.
  let low = 0;
  let high = count - 1;
  for (let at = count - 1; at >= 0; at--) {
    sizes[at] = -sorted[low]! > sorted[high]! ? -sorted[low++]! : Math.abs(sorted[high--]!);
  }
  return sizes;
}

/** Says to people who listen what a picture is; the readout says the values. */
export function labelOf(what: string, part: HeatmapPart): string {
  const size = `${dimensionText(part.row_dim)} by ${dimensionText(part.column_dim)}`;
  return `${part.name ? `${part.name}: ` : ''}${what}, ${size}: the arrow keys read values`;
}

/** The room and the look in which a part is drawn. */
export interface Sight {
  readonly tone: Tone;
  readonly reach: number;
  readonly theme: Theme;
  /** CSS pixels that the view is wide. */
  readonly width: number;
}

/** One input on the page. */
export interface PartPicture {
  readonly element: HTMLElement;
  cursor: Cell | null;
  accept(data: PartData): void;
  draw(sight: Sight): void;
  /** Canvases to be saved in a file, from left to right. */
  canvases(): readonly HTMLCanvasElement[];
  destroy(): void;
}

const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1]
};

/** Where a key leads from a cell; undefined where it means nothing. */
export function keyed(
  event: KeyboardEvent,
  cursor: Cell | null,
  { height, width }: { readonly height: number; readonly width: number }
): Cell | null | undefined {
  const within = (value: number, size: number): number => Math.min(size - 1, Math.max(0, value));
  const step = KEYS[event.key];
  if (step) {
    // So that the first arrow to the right leads to the first column.
    const at = cursor ?? { row: 0, column: -step[1] };
    const far = event.shiftKey ? 5 : 1;
    return { row: within(at.row + step[0] * far, height), column: within(at.column + step[1] * far, width) };
  }
  if (event.key === 'Home') {
    return { row: 0, column: 0 };
  }
  if (event.key === 'End') {
    return { row: height - 1, column: width - 1 };
  }
  return event.key === 'Escape' && cursor ? null : undefined;
}

/** The name of an input above its pictures; nothing where there is one input only. */
export function partName(part: HeatmapPart): HTMLElement | null {
  return part.name ? h('h3', { class: 'wb-heat-part-name' }, part.name) : null;
}
