import type { Host, Mount, MountOptions } from '../host';
import type { ShapesViewEvent, ShapesViewState } from '../protocol';
import { StateError } from '../common/buffers';
import { replace } from '../common/dom';
import type { Exports } from '../common/exporting';
import { Picture } from '../common/picture';
import { ClashPicture } from './clash';
import { SHAPES_CSS } from './css';
import { FlowPicture } from './flow';
import type { Act, Stage } from './stage';
import { TensorPicture } from './tensor';

type Kind = ShapesViewState['kind'];

class ShapesView extends Picture<ShapesViewState, ShapesViewEvent> {
  private kind: Kind | null = null;
  private act: Act<ShapesViewState> | null = null;

  constructor(root: HTMLElement, host: Host<ShapesViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'shapes',
      css: SHAPES_CSS,
      emptySentence: 'A tensor, the shapes of a graph or a shape error will be drawn here. To see one, run:',
      emptyCode: 'wb.randn(N=4, C=3, H=32, W=32)'
    };
    super(root, host, identity, options);
  }

  protected accept(state: ShapesViewState, buffers: readonly DataView[]): void {
    if (this.kind !== state.kind || !this.act) {
      this.act?.destroy();
      this.act = this.create(state.kind);
      this.kind = state.kind;
    }
    this.act.accept(state, buffers);
    if (this.act.element.parentNode !== this.content) {
      replace(this.content, this.act.element);
    }
  }

  protected draw(): void {
    this.act?.draw();
  }

  protected exports(): Exports {
    return this.act?.exports() ?? {};
  }

  protected override themeChanged(): void {
    this.act?.draw();
  }

  override destroy(): void {
    this.act?.destroy();
    super.destroy();
  }

  private create(kind: Kind): Act<ShapesViewState> {
    const stage: Stage = {
      host: this.host,
      theme: () => this.theme,
      width: () => this.width,
      redraw: () => this.frame.request(),
      send: event => this.send(event)
    };
    switch (kind) {
      case 'tensor':
        return new TensorPicture(stage) as Act<ShapesViewState>;
      case 'flow':
        return new FlowPicture(stage) as Act<ShapesViewState>;
      case 'clash':
        return new ClashPicture(stage) as Act<ShapesViewState>;
      default:
        throw new StateError(`the shapes view knows no state of the kind “${String(kind)}”`);
    }
  }
}

/** The shapes view: a tensor, dims flowing through ops, or a shape error as a picture. */
export const mountShapes: Mount<ShapesViewState, ShapesViewEvent> = (root, host, options) =>
  new ShapesView(root, host, options);
