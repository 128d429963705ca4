import type { Host, Mount, MountOptions } from '../host';
import type { HeatmapViewEvent, HeatmapViewState } from '../protocol';
import { StateError } from '../common/buffers';
import { replace } from '../common/dom';
import type { Exports } from '../common/exporting';
import { Picture } from '../common/picture';
import { AttributionPicture } from './attribution';
import { BoardPicture } from './board';
import { HEATMAP_CSS } from './css';
import type { Act, Stage } from './stage';

type Kind = HeatmapViewState['kind'];

class HeatmapView extends Picture<HeatmapViewState, HeatmapViewEvent> {
  private kind: Kind | null = null;
  private act: Act<HeatmapViewState> | null = null;

  constructor(root: HTMLElement, host: Host<HeatmapViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'heatmap',
      css: HEATMAP_CSS,
      emptySentence: 'What a model looks at will be drawn here, over its input. To ask it:',
      emptyCode: 'wb.widgets.attribution(model, images)'
    };
    super(root, host, identity, options);
  }

  protected accept(state: HeatmapViewState, buffers: readonly DataView[]): void {
    if (this.kind !== state.kind || !this.act) {
      // A kind that is not known leaves what is drawn.
      const act = this.create(state.kind);
      this.act?.destroy();
      this.act = act;
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

  override destroy(): void {
    this.act?.destroy();
    super.destroy();
  }

  private create(kind: Kind): Act<HeatmapViewState> {
    const stage: Stage = {
      host: this.host,
      theme: () => this.theme,
      width: () => this.width,
      redraw: () => this.frame.request(),
      send: event => this.send(event)
    };
    switch (kind) {
      case 'heatmap':
        // It shows a refusal where it belongs.
        return new AttributionPicture({
          ...stage,
          send: event => this.send(event, true)
        }) as Act<HeatmapViewState>;
      case 'board':
        return new BoardPicture(stage) as Act<HeatmapViewState>;
      default:
        throw new StateError(`the heatmap view knows no state of the kind “${String(kind)}”`);
    }
  }
}

/** The heatmap view: an attribution over its input, or a board on which methods are compared. */
export const mountHeatmap: Mount<HeatmapViewState, HeatmapViewEvent> = (root, host, options) =>
  new HeatmapView(root, host, options);
