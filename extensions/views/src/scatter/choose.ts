/** Which renderer draws, and whether points changed at all. */
import { CanvasRenderer, type Renderer } from './renderer';
import { ShaderError } from '../common/webgl';
import { webglRenderer } from './webgl';

/** A renderer, and what a person should know of the choice. */
export function makeRenderer(wish: 'auto' | 'canvas'): readonly [Renderer, string] {
  if (wish === 'canvas') {
    return [new CanvasRenderer(), 'drawn without WebGL'];
  }
  try {
    const renderer = webglRenderer();
    return renderer ? [renderer, ''] : [new CanvasRenderer(), 'no WebGL here: drawn without it'];
  } catch (error) {
    if (!(error instanceof ShaderError)) {
      throw error;
    }
    return [new CanvasRenderer(), `drawn without WebGL: ${error.message}`];
  }
}

/** Whether two lists hold the same numbers. */
export function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

const MARKS = new WeakMap<ArrayBufferLike, Map<number, string>>();

/** A quick mark of a buffer's bytes, to see whether points changed at all. */
export function checksum(view: DataView | undefined): string {
  if (!view) {
    return '';
  }
  // The very same memory comes with every state of a widget: it is looked through once.
  const known = MARKS.get(view.buffer) ?? new Map<number, string>();
  MARKS.set(view.buffer, known);
  const mark = known.get(view.byteOffset) ?? markOf(view);
  known.set(view.byteOffset, mark);
  return mark;
}

function markOf(view: DataView): string {
  // FNV-1a, by words where it can: it tells pictures apart, and defends against nobody.
  let sum = 2166136261;
  const words = view.byteLength >> 2;
  for (let index = 0; index < words; index++) {
    sum = Math.imul(sum ^ view.getUint32(index * 4, true), 16777619);
  }
  for (let index = words * 4; index < view.byteLength; index++) {
    sum = Math.imul(sum ^ view.getUint8(index), 16777619);
  }
  return `${view.byteLength}:${sum >>> 0}`;
}
