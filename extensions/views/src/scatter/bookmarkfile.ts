/**
 * Bookmarks as TensorBoard's projector writes and reads them: a list of states. What both know (name, selection, what is
 * shown, colour, label, camera, projection) goes over; the whole arrangement lies beside it under a name of its own.
 * Python does the same for logs, in `scatter_bookmark_states.py`; the examples of `tests/bookmarks.json` hold both to it.
 */
import type { ScatterBookmark } from '../protocol';
import { PLAIN_ARRANGEMENT, type Arrangement } from './arrangement';

/** How far TensorBoard's camera stands from the middle at first. */
const DISTANCE = 1.9;
const MOST_BOOKMARKS = 200;
const MOST_POINTS = 100_000;

const METHODS = ['pca', 'tsne', 'umap', 'custom'];

/** The file's text. */
export function writeBookmarks(
  bookmarks: readonly ScatterBookmark[],
  size: readonly [number, number]
): string {
  const states = bookmarks.map(({ name, arrangement }, index) => ({
    label: name,
    isSelected: index === 0,
    projections: [],
    selectedProjection:
      METHODS.find(method => arrangement.projection.replace('-', '').startsWith(method)) ?? 'pca',
    dataSetDimensions: [...size],
    pcaComponentDimensions: [0, 1, 2],
    selectedPoints: arrangement.selected,
    filteredPoints: arrangement.isolated,
    selectedColorOptionName: arrangement.colour,
    selectedLabelOption: arrangement.label,
    cameraDef: cameraOut(arrangement.camera),
    workbench: arrangement
  }));
  return JSON.stringify(states, null, 1);
}

/** Reads a file; raises Error with words where it is none of bookmarks. */
export function readBookmarks(text: string): ScatterBookmark[] {
  let states: unknown;
  try {
    states = JSON.parse(text);
  } catch (error) {
    throw new Error(`this is no JSON: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error
    });
  }
  if (!Array.isArray(states) || states.length > MOST_BOOKMARKS || !states.every(isRecord)) {
    throw new Error(
      `bookmarks are a list of at most ${MOST_BOOKMARKS} states, as the projector's bookmarks are saved`
    );
  }
  return states.map((state, index) => ({
    name: words(state['label']) || `State ${index}`,
    arrangement: isRecord(state['workbench']) ? own(state['workbench']) : foreign(state)
  }));
}

type Plain = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function words(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 200) : '';
}

function whole(value: unknown): number[] | null {
  return Array.isArray(value)
    ? value.filter((one): one is number => Number.isInteger(one) && one >= 0).slice(0, MOST_POINTS)
    : null;
}

function numbers(value: unknown): number[] {
  return Array.isArray(value) && value.every(one => Number.isFinite(one)) ? (value as number[]) : [];
}

function list(value: unknown): Plain[] {
  return Array.isArray(value) ? value.filter(isRecord).slice(0, 100) : [];
}

function foreign(state: Plain): Arrangement {
  const shown = words(state['selectedProjection']);
  return {
    ...PLAIN_ARRANGEMENT,
    projection: shown === 'tsne' ? 't-sne' : shown,
    camera: cameraIn(state['cameraDef']),
    label: words(state['selectedLabelOption']),
    colour: words(state['selectedColorOptionName']),
    isolated: whole(state['filteredPoints']),
    selected: whole(state['selectedPoints']) ?? []
  };
}

function own(kept: Plain): Arrangement {
  const camera = numbers(kept['camera']);
  const k = kept['k'];
  return {
    projection: words(kept['projection']),
    camera: camera.length === 6 ? camera : [],
    label: words(kept['label']),
    colour: words(kept['colour']),
    hidden: list(kept['hidden']).map(one => ({
      column: words(one['column']),
      values: Array.isArray(one['values']) ? one['values'].map(words).slice(0, 5000) : []
    })),
    ranges: list(kept['ranges']).flatMap(one => {
      const [low, high] = [one['low'], one['high']];
      return typeof low === 'number' && typeof high === 'number'
        ? [{ column: words(one['column']), low, high }]
        : [];
    }),
    isolated: whole(kept['isolated']),
    selected: whole(kept['selected']) ?? [],
    metric: kept['metric'] === 'euclidean' ? 'euclidean' : 'cosine',
    k: typeof k === 'number' && Number.isInteger(k) && k >= 1 && k <= 999 ? k : PLAIN_ARRANGEMENT.k
  };
}

function cameraOut(camera: readonly number[]): Plain {
  const [yaw = 0.6, pitch = 0.32, zoom = 1, , , flat = 0] = camera;
  const far = DISTANCE / zoom;
  return {
    orthographic: flat > 0.5,
    position: {
      x: -Math.cos(pitch) * Math.sin(yaw) * far,
      y: Math.sin(pitch) * far,
      z: Math.cos(pitch) * Math.cos(yaw) * far
    },
    target: { x: 0, y: 0, z: 0 },
    zoom
  };
}

function cameraIn(given: unknown): number[] {
  const position = isRecord(given) ? given['position'] : null;
  if (!isRecord(given) || !isRecord(position)) {
    return [];
  }
  const [x, y, z] = ['x', 'y', 'z'].map(axis => Number(position[axis]));
  const far = Math.hypot(x!, y!, z!);
  if (!(far > 0) || !Number.isFinite(far)) {
    return [];
  }
  const zoom = Math.min(400, Math.max(0.1, DISTANCE / far));
  return [Math.atan2(-x!, z!), Math.asin(y! / far), zoom, 0, 0, given['orthographic'] === true ? 1 : 0];
}
