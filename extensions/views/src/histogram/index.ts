import type { Answer, Host, Mount, MountOptions } from '../host';
import type { HistogramState, HistogramViewEvent, ObserverDetail } from '../protocol';
import { float32, StateError } from '../common/buffers';
import { h, replace, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { grouped } from '../common/numbers';
import { writeCode } from '../common/parts';
import { Picture } from '../common/picture';
import { HISTOGRAM_CSS } from './css';
import { DetailPane } from './detail';
import { ObserverList } from './list';
import type { Overlay } from './values';

const MOST_BINS = 1 << 20;

class HistogramView extends Picture<HistogramState, HistogramViewEvent> {
  private readonly list: ObserverList;
  private readonly detail: DetailPane;
  private readonly layout: HTMLElement;
  private readonly nothing: HTMLElement;
  private counts: Float32Array = new Float32Array();

  constructor(root: HTMLElement, host: Host<HistogramViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'histogram',
      css: HISTOGRAM_CSS,
      emptySentence:
        'What the observers of a model have seen will be drawn here, and their ranges can be moved by hand. Prepare a model and run a batch through it:',
      emptyCode: 'prepared = wb.quantization.prepare(model); prepared(batch)'
    };
    super(root, host, identity, options);
    this.list = new ObserverList(id => this.choose(id));
    this.detail = new DetailPane(
      event => this.send(event, true),
      () => this.frame.request(),
      {
        open: id => void this.choose(id),
        write: code => writeCode(this.host, code),
        openDiff: () => this.openDiff()
      }
    );
    this.nothing = this.empty('', 'prepared(batch)');
    this.layout = h('div', { class: 'wb-observers' }, this.list.element, this.detail.element, this.nothing);
    this.listeners.add(
      host.onSelect?.(selection => {
        const id =
          selection.observer ?? (selection.node !== undefined ? this.observerOf(selection.node) : null);
        if (id && selection.from !== 'histogram' && id !== this.state?.selected) {
          void this.send({ type: 'select', id });
        }
      })
    );
  }

  protected accept(state: HistogramState, buffers: readonly DataView[]): void {
    if (state.kind !== 'histogram') {
      throw new StateError(`the histogram view knows no state of the kind “${String(state.kind)}”`);
    }
    const { detail } = state;
    if (detail) {
      // Written so that what is no number is refused, too.
      if (!(detail.bins >= 0) || detail.bins > MOST_BINS) {
        throw new StateError(`${grouped(detail.bins)} bins are more than a view can show`);
      }
      this.counts = float32(buffers, detail.counts_buffer, detail.bins, 'the histogram').subarray(
        0,
        detail.bins
      );
    }
    if (state.observers.length === 0) {
      replace(this.content, this.empty());
      return;
    }
    if (this.layout.parentNode !== this.content) {
      replace(this.content, this.layout);
    }
    this.layout.toggleAttribute('data-single', state.observers.length < 2);
    this.list.update(state.observers, state.selected, state.model);
    this.detail.element.hidden = !detail;
    this.nothing.hidden = detail !== null;
    setText(this.nothing.querySelector('p')!, state.no_detail);
    if (detail) {
      this.detail.accept(state, detail, this.counts, overlayOf(detail, buffers));
    }
  }

  protected draw(): void {
    this.list.resize();
    this.detail.draw(this.theme);
  }

  protected exports(): Exports {
    const { state, counts } = this;
    const detail = state?.detail;
    if (!state || !detail) {
      return state ? { json: () => state } : {};
    }
    const width = (detail.observed_high - detail.observed_low) / Math.max(1, detail.bins);
    const rows = Array.from(counts, (count, bin) => [
      detail.observed_low + bin * width,
      detail.observed_low + (bin + 1) * width,
      count
    ]);
    return {
      svg: () => this.detail.plot.svg,
      caption: () => [this.detail.element.querySelector('.wb-figures')?.textContent ?? ''],
      csv: () => csv([['from', 'to', 'count'], ...rows]),
      json: () => ({ ...state, counts: Array.from(counts) })
    };
  }

  override destroy(): void {
    this.detail.destroy();
    super.destroy();
  }

  /** Opens the difference that Python has just made; says why it cannot, if so. */
  private openDiff(): string {
    const { openView } = this.host;
    openView?.('diff');
    return openView
      ? ''
      : 'The difference is made, and there is no panel to show it here. In a cell, run: wb.widgets.diff(calibration.difference())';
  }

  private choose(id: string): Promise<Answer | void> {
    this.host.select?.({ observer: id, from: 'histogram' });
    return this.send({ type: 'select', id });
  }

  /** The observer that belongs to a graph node: they share the name of what they stand for. */
  private observerOf(node: string | null): string | null {
    return this.state?.observers.find(row => row.id === node || row.name === node)?.id ?? null;
  }
}

/** Values before and after quantization, with their counts. */
function overlayOf(detail: ObserverDetail, buffers: readonly DataView[]): Overlay | null {
  const { values } = detail;
  if (!values) {
    return null;
  }
  if (!(values.bins >= 0) || values.bins > MOST_BINS) {
    throw new StateError(`${grouped(values.bins)} bins are more than a view can show`);
  }
  const counts = (buffer: number): Float32Array =>
    float32(buffers, buffer, values.bins, 'values of the layer').subarray(0, values.bins);
  return { values, float: counts(values.float_buffer), integer: counts(values.integer_buffer) };
}

/** The histogram view: what observers saw, and the range that a person can move. */
export const mountHistogram: Mount<HistogramState, HistogramViewEvent> = (root, host, options) =>
  new HistogramView(root, host, options);
