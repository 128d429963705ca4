/** Where a person looks from: moved by hand, turned between the plane and space, put back. */
import { reducedMotion } from '../common/frame';
import { between, startCamera, type Camera } from './camera';

const TURN_MILLISECONDS = 150;

/** The camera of one view, and its turn where one is under way. */
export class Look {
  camera: Camera = startCamera(3);
  private turn: { readonly from: Camera; readonly to: Camera; readonly start: number } | null = null;
  private moved = false;

  constructor(private readonly redraw: () => void) {}

  /** Looks anew at other points; at points of the same kind only where nobody has moved the camera. */
  begin(dims: number, anew: boolean): void {
    if (anew || !this.moved) {
      this.camera = startCamera(dims);
      this.turn = null;
    }
  }

  /** Takes the camera that a hand gave. */
  move(camera: Camera): void {
    this.moved = true;
    this.turn = null;
    this.camera = camera;
    this.redraw();
  }

  /** Turns to the plane or to space. */
  turnTo(flat: boolean): void {
    this.goTo({ ...this.camera, flat: flat ? 1 : 0 });
  }

  /** Goes to another camera. */
  goTo(to: Camera): void {
    this.moved = true;
    if (reducedMotion()) {
      this.camera = to;
    } else {
      this.turn = { from: this.camera, to, start: performance.now() };
    }
    this.redraw();
  }

  /** Goes on with a turn, once a frame. */
  step(): void {
    if (this.turn) {
      const t = Math.min(1, (performance.now() - this.turn.start) / TURN_MILLISECONDS);
      // Slower towards its end, as things come to rest.
      this.camera = between(this.turn.from, this.turn.to, t * (2 - t));
      if (t >= 1) {
        this.turn = null;
      } else {
        this.redraw();
      }
    }
  }

  /** Goes back to the first look, in the plane or in space. */
  reset(dims: number, flat: boolean): void {
    this.camera = { ...startCamera(dims), flat: flat ? 1 : 0 };
    this.turn = null;
    this.redraw();
  }
}
