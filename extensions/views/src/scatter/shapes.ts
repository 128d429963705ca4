/** Shapes of points: what tells categories apart where colours run out. */

/** The shapes that points take, in order. */
export const SHAPES = ['circle', 'square', 'triangle', 'diamond', 'cross', 'ring'] as const;

/** The name of a shape. */
export type Shape = (typeof SHAPES)[number];

/** Eight colours can be told apart by anybody: the next eight categories have them in another shape. */
const COLOURS_A_SHAPE = 8;

/** The shape of a category, as its place in `SHAPES`. */
export function categoryShape(index: number): number {
  return Math.floor(index / COLOURS_A_SHAPE) % SHAPES.length;
}

/** How far inside of a shape of radius 1 a place lies, from its middle; below 0 outside. The shader has the same. */
export function inset(shape: number, x: number, y: number): number {
  const [across, down] = [Math.abs(x), Math.abs(y)];
  const away = Math.hypot(x, y);
  switch (SHAPES[shape]) {
    case 'square':
      return 0.85 - Math.max(across, down);
    case 'triangle':
      return Math.min(0.8 - y, ((y + 1) * 0.95 - across * 1.8) / 2.0353);
    case 'diamond':
      return (1 - across - down) * Math.SQRT1_2;
    case 'cross':
      return Math.max(Math.min(1 - across, 0.35 - down), Math.min(0.35 - across, 1 - down));
    case 'ring':
      return Math.min(1 - away, away - 0.5);
    default:
      return 1 - away;
  }
}

/** The outline of a shape around a point, as SVG's `d`: for legends and files. */
export function shapePath(shape: number, x: number, y: number, radius: number): string {
  const corners = (...away: readonly (readonly [number, number])[]): string =>
    away.map(([dx, dy], at) => `${at ? 'L' : 'M'}${at2(x + dx * radius)} ${at2(y + dy * radius)}`).join('') +
    'Z';
  const circle = (r: number): string =>
    `M${at2(x - r)} ${at2(y)}a${at2(r)} ${at2(r)} 0 1 0 ${at2(2 * r)} 0a${at2(r)} ${at2(r)} 0 1 0 ${at2(-2 * r)} 0Z`;
  switch (SHAPES[shape]) {
    case 'square':
      return corners([-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]);
    case 'triangle':
      return corners([0, -1], [0.95, 0.8], [-0.95, 0.8]);
    case 'diamond':
      return corners([0, -1], [1, 0], [0, 1], [-1, 0]);
    case 'cross':
      return corners(
        ...([
          [-0.35, -1],
          [0.35, -1],
          [0.35, -0.35],
          [1, -0.35],
          [1, 0.35],
          [0.35, 0.35],
          [0.35, 1],
          [-0.35, 1],
          [-0.35, 0.35],
          [-1, 0.35],
          [-1, -0.35],
          [-0.35, -0.35]
        ] as const)
      );
    case 'ring':
      return circle(radius) + circle(radius * 0.5);
    default:
      return circle(radius);
  }
}

/** Hundredths of a pixel are enough, and keep files small. */
function at2(value: number): string {
  return String(Math.round(value * 100) / 100);
}
