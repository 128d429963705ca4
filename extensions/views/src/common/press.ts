/**
 * A click is a press and a release on one element: a browser makes none, and says nothing, if the element was taken
 * out of the page in between. Pictures come twenty times a second, and on a busy machine a press takes longer. So a
 * view holds new pictures back until a press has ended, that of a key included.
 */
import { Listeners } from './dom';

/** Elements that follow the pointer by themselves: what they ask for must be seen while they are held. */
const DRAGGED = "input[type='range']";
const CAPTURE = { capture: true };
/** Keys that press the element in focus when they are released. */
const PRESSING: readonly string[] = [' ', 'Enter'];

/** Whether something in an element is pressed at the moment. */
export class Press {
  private readonly listeners = new Listeners();
  private readonly whileDown = new Listeners();
  private down = false;

  constructor(
    element: HTMLElement,
    private readonly ended: () => void
  ) {
    this.listeners.on(element, 'pointerdown', event => this.press(event), CAPTURE);
    this.listeners.on(element, 'keydown', event => this.type(event), CAPTURE);
    // Who captures the pointer drags: the picture has to follow the hand.
    this.listeners.on(element, 'gotpointercapture', () => this.release(), CAPTURE);
  }

  /** True between a press and the click that it becomes. */
  get holds(): boolean {
    return this.down;
  }

  /** Lets every listener go. */
  destroy(): void {
    this.listeners.release();
    this.whileDown.release();
  }

  private press(event: PointerEvent): void {
    if (event.button === 0 && !(event.target as Element).closest(DRAGGED)) {
      this.hold(['pointerup', 'pointercancel']);
      // A release outside the window is not told to everybody.
      this.whileDown.on(window, 'pointermove', move => move.buttons === 0 && this.release(), CAPTURE);
    }
  }

  private type(event: KeyboardEvent): void {
    if (PRESSING.includes(event.key) && (event.target as Element).closest('button, summary, select')) {
      this.hold(['keyup']);
    }
  }

  private hold(ends: readonly ('pointerup' | 'pointercancel' | 'keyup')[]): void {
    this.whileDown.release();
    this.down = true;
    for (const end of ends) {
      // The click follows within the same task.
      this.whileDown.on(window, end, () => setTimeout(() => this.release(), 0), CAPTURE);
    }
    // A window without the focus is not told when a key comes up.
    this.whileDown.on(window, 'blur', () => this.release());
  }

  private release(): void {
    this.whileDown.release();
    if (this.down) {
      this.down = false;
      this.ended();
    }
  }
}
