/** Typed arrays from the buffers that travel beside a state. */

/** A state that does not fit its buffers, or that no picture can be made of. */
export class StateError extends Error {}

function bytesOf(buffers: readonly DataView[], index: number, what: string): Uint8Array<ArrayBuffer> {
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

type Numbers = Float32Array | Float64Array | Uint16Array | Uint32Array;

/** Reads a buffer as one type of numbers. */
type Read<A> = (buffers: readonly DataView[], index: number, length: number, what: string) => A;

function reading<A extends Numbers>(
  kind: { readonly BYTES_PER_ELEMENT: number } & (new (buffer: ArrayBuffer, from: number, count: number) => A)
): Read<A> {
  return (buffers, index, length, what) => {
    const bytes = bytesOf(buffers, index, what);
    return checked(
      // Bytes that make no whole element are left out.
      new kind(bytes.buffer, 0, Math.floor(bytes.byteLength / kind.BYTES_PER_ELEMENT)),
      length,
      what
    );
  };
}

/** A buffer of float32. */
export const float32 = reading(Float32Array);

/** A buffer of float64. */
export const float64 = reading(Float64Array);

/** A buffer of uint16. */
export const uint16 = reading(Uint16Array);

/** A buffer of uint32. */
export const uint32 = reading(Uint32Array);

/** A buffer of uint8. */
export function uint8(buffers: readonly DataView[], index: number, length: number, what: string): Uint8Array {
  return checked(bytesOf(buffers, index, what), length, what);
}
