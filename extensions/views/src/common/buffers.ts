/** Typed arrays from the buffers that travel beside a state. */

/** A state that does not fit its buffers, or that no picture can be made of. */
export class StateError extends Error {}

function bytesOf(buffers: readonly DataView[], index: number, what: string): Uint8Array {
  const view = buffers[index];
  if (view === undefined) {
    throw new StateError(`${what}: buffer ${index} did not arrive (${buffers.length} did)`);
  }
  // A copy, because a view into a message need not lie at a multiple of the element size.
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
}

function checked<A extends { readonly length: number }>(array: A, length: number, what: string): A {
  if (array.length < length) {
    throw new StateError(`${what}: ${length} values were promised and ${array.length} arrived`);
  }
  return array;
}

/** A buffer of float32. */
export function float32(
  buffers: readonly DataView[],
  index: number,
  length: number,
  what: string
): Float32Array {
  const bytes = bytesOf(buffers, index, what);
  return checked(new Float32Array(bytes.buffer, 0, bytes.byteLength >> 2), length, what);
}

/** A buffer of float64. */
export function float64(
  buffers: readonly DataView[],
  index: number,
  length: number,
  what: string
): Float64Array {
  const bytes = bytesOf(buffers, index, what);
  return checked(new Float64Array(bytes.buffer, 0, bytes.byteLength >> 3), length, what);
}

/** A buffer of uint16. */
export function uint16(
  buffers: readonly DataView[],
  index: number,
  length: number,
  what: string
): Uint16Array {
  const bytes = bytesOf(buffers, index, what);
  return checked(new Uint16Array(bytes.buffer, 0, bytes.byteLength >> 1), length, what);
}

/** A buffer of uint8. */
export function uint8(buffers: readonly DataView[], index: number, length: number, what: string): Uint8Array {
  return checked(bytesOf(buffers, index, what), length, what);
}
