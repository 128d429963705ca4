/** The range of each channel as a figure: which are outliers, and the one under the pointer in words. */
import type { ObserverDetail } from '../protocol';
import { h, s, setText } from '../common/dom';
import { figure } from '../common/numbers';
import type { Theme } from '../common/theme';
import { channelAt, drawChannels } from './curve';
import type { Range } from './range';

/** The figure of the channels. */
export class Channels {
  readonly element: HTMLElement;
  private readonly svg = s('svg', { class: 'wb-svg', role: 'img', 'data-testid': 'wb-channels' });
  private readonly text = h('span', { 'aria-live': 'polite' });
  private detail: ObserverDetail | null = null;

  constructor() {
    this.element = h('figure', {}, h('figcaption', {}, this.text), this.svg as unknown as HTMLElement);
    this.svg.addEventListener('pointermove', event => this.point(event));
    this.svg.addEventListener('pointerleave', () => this.say());
  }

  /** Takes another observer, or more of the same. */
  accept(detail: ObserverDetail): void {
    this.detail = detail;
    this.say();
  }

  /** Draws at the size there is. */
  draw(detail: ObserverDetail, range: Range, theme: Theme): void {
    drawChannels(this.svg, detail, range, Math.max(160, this.element.clientWidth), theme);
  }

  private say(): void {
    const { detail } = this;
    if (!detail) {
      return;
    }
    const name = detail.channel_dim ?? 'channel';
    const outliers = detail.channels.filter(channel => channel.outlier);
    const first = outliers
      .slice(0, 3)
      .map(channel => `${name} ${channel.index}`)
      .join(', ');
    const more = outliers.length > 3 ? ` and ${outliers.length - 3} more` : '';
    setText(
      this.text,
      `ranges along ${name}${outliers.length > 0 ? ` · outlier${outliers.length > 1 ? 's' : ''}: ${first}${more}` : ''}`
    );
    this.svg.setAttribute(
      'aria-label',
      `ranges of ${detail.channels.length} entries along ${name}; ${outliers.length} outliers`
    );
  }

  private point(event: PointerEvent): void {
    const box = this.svg.getBoundingClientRect();
    const channel = this.detail ? channelAt(this.detail, event.clientX - box.left, box.width) : null;
    if (channel) {
      const name = this.detail?.channel_dim ?? 'channel';
      setText(
        this.text,
        `${name} ${channel.index}: ${figure(channel.low)} to ${figure(channel.high)}${channel.outlier ? ' · outlier' : ''}`
      );
    } else {
      this.say();
    }
  }
}
