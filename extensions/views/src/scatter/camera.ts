/** The camera of the projector: turn, zoom and shift, in two or three dimensions, and where points land. */
import { clamp } from '../common/scales';

/** Where a person looks from. */
export interface Camera {
  readonly yaw: number;
  readonly pitch: number;
  readonly zoom: number;
  /** Shift in units of half the shorter side. */
  readonly panX: number;
  readonly panY: number;
  /** 0 is three-dimensional with perspective, 1 is flat; between them the view turns from one to the other. */
  readonly flat: number;
}

/** How strong perspective is. */
const PERSPECTIVE = 0.32;

/** The first look at a cloud. */
export function startCamera(dims: number): Camera {
  return dims === 3
    ? { yaw: 0.6, pitch: 0.32, zoom: 1, panX: 0, panY: 0, flat: 0 }
    : { yaw: 0, pitch: 0, zoom: 1, panX: 0, panY: 0, flat: 1 };
}

/** What a renderer needs of the camera and the size of the picture. */
export interface Projection {
  /** The rotation, row by row; its third column is already made flat where the view is. */
  readonly rows: Float32Array;
  readonly perspective: number;
  /** Pixels a unit. */
  readonly unit: number;
  readonly centerX: number;
  readonly centerY: number;
}

/** The projection of a camera onto `width` by `height` pixels. */
export function projection(camera: Camera, width: number, height: number): Projection {
  // Angles go with the depth: from straight above, the first two dims are right and up.
  const round = 1 - camera.flat;
  const [cy, sy] = [Math.cos(camera.yaw * round), Math.sin(camera.yaw * round)];
  const [cp, sp] = [Math.cos(camera.pitch * round), Math.sin(camera.pitch * round)];
  const half = Math.min(width, height) / 2;
  const rows = Float32Array.of(
    cy,
    0,
    sy * round,
    sp * sy,
    cp,
    -sp * cy * round,
    -cp * sy,
    sp,
    cp * cy * round
  );
  return {
    rows,
    perspective: PERSPECTIVE * round,
    unit: half * 0.86 * camera.zoom,
    centerX: width / 2 + camera.panX * half,
    centerY: height / 2 - camera.panY * half
  };
}

/** Where a point lands: pixels, depth (towards the viewer is larger), and how much nearer things look larger. */
export function project(
  p: Projection,
  x: number,
  y: number,
  z: number
): readonly [number, number, number, number] {
  const r = p.rows;
  const depth = r[6]! * x + r[7]! * y + r[8]! * z;
  // Never through the eye: what is near does not grow without end.
  const size = 1 / Math.max(0.2, 1 - depth * p.perspective);
  return [
    p.centerX + (r[0]! * x + r[1]! * y + r[2]! * z) * p.unit * size,
    p.centerY - (r[3]! * x + r[4]! * y + r[5]! * z) * p.unit * size,
    depth,
    size
  ];
}

/** Zooms about a pixel, which stays where it is. */
export function zoomAt(
  camera: Camera,
  factor: number,
  x: number,
  y: number,
  width: number,
  height: number
): Camera {
  const zoom = clamp(camera.zoom * factor, 0.1, 400);
  const ratio = zoom / camera.zoom;
  const half = Math.min(width, height) / 2;
  const px = (x - width / 2) / half;
  const py = (height / 2 - y) / half;
  return { ...camera, zoom, panX: px - (px - camera.panX) * ratio, panY: py - (py - camera.panY) * ratio };
}

/** A camera that sees a rectangle of its picture as large as the picture allows. */
export function zoomTo(
  camera: Camera,
  box: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number },
  width: number,
  height: number
): Camera {
  const half = Math.min(width, height) / 2;
  const room = Math.min(
    width / Math.max(1, box.right - box.left),
    height / Math.max(1, box.bottom - box.top)
  );
  // With some air around it, and no nearer than that single points can be told apart.
  const zoom = clamp(camera.zoom * room * 0.8, 0.1, Math.max(camera.zoom, 40));
  const ratio = zoom / camera.zoom;
  const away = (from: number, to: number, size: number): number => (from + to - size) / 2 / half;
  return {
    ...camera,
    zoom,
    panX: (camera.panX - away(box.left, box.right, width)) * ratio,
    panY: (camera.panY + away(box.top, box.bottom, height)) * ratio
  };
}

/** The radius of a point in pixels: many points are small ones. */
export function pointRadius(count: number, camera: Camera): number {
  const base =
    count <= 300
      ? 5.5
      : count <= 2000
        ? 4
        : count <= 12_000
          ? 2.9
          : count <= 50_000
            ? 2
            : count <= 300_000
              ? 1.5
              : 1.1;
  // Points grow, but less than what lies between them, so that zooming tells them apart.
  return base * clamp(camera.zoom ** 0.35, 0.7, 3.2);
}

/** A camera between two others; `t` runs from 0 to 1. */
export function between(from: Camera, to: Camera, t: number): Camera {
  const mix = (key: keyof Camera): number => from[key] + (to[key] - from[key]) * t;
  return {
    yaw: mix('yaw'),
    pitch: mix('pitch'),
    zoom: mix('zoom'),
    panX: mix('panX'),
    panY: mix('panY'),
    flat: mix('flat')
  };
}
