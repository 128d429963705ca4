/** Pictures and texts of a log, as they were at a step. */
import type { RunsPicture, RunsText } from '../protocol';
import { StateError, uint8 } from '../common/buffers';
import { h } from '../common/dom';
import { grouped } from '../common/numbers';
import { middleOut } from '../common/text';
import { runColour } from '../training/lines';

const MOST_SIDE = 1024;
/** Pictures of fewer pixels are drawn so large, a pixel as a square. */
const LEAST_SIDE = 160;

function caption(
  { tag, run, step, position, of }: Pick<RunsPicture, 'tag' | 'run' | 'step' | 'position' | 'of'>,
  name: string,
  dark: boolean,
  facts = ''
): HTMLElement {
  const swatch = h('i', { 'aria-hidden': 'true' });
  swatch.style.color = runColour(run, dark);
  const which = of > 1 ? ` (${grouped(position + 1)} of ${grouped(of)})` : '';
  return h(
    'figcaption',
    {},
    h('b', { title: tag }, middleOut(tag, 60)),
    h('span', { class: 'wb-chart-legend' }, h('span', {}, swatch, middleOut(name, 32))),
    h('span', { class: 'wb-quiet' }, `step ${grouped(step)}${which}${facts}`)
  );
}

/** A picture on a canvas: its bytes are pixels, and no file that a browser would interpret. */
export function pictureCard(
  picture: RunsPicture,
  buffers: readonly DataView[],
  name: string,
  dark: boolean
): HTMLElement {
  const { height, width, channels, full_height, full_width, tag, trouble } = picture;
  if (!(
    height >= 0 &&
    height <= MOST_SIDE &&
    width >= 0 &&
    width <= MOST_SIDE &&
    [1, 3, 4].includes(channels)
  )) {
    throw new StateError(`a picture of ${width} × ${height} pixels and ${channels} channels cannot be drawn`);
  }
  const card = h('figure', { class: 'wb-runs-picture', 'data-testid': 'wb-picture-card' });
  if (trouble !== '') {
    card.append(
      caption(picture, name, dark),
      h('p', { class: 'wb-quiet' }, `This picture cannot be read: ${trouble}`)
    );
    return card;
  }
  const bytes = uint8(buffers, picture.pixels_buffer, height * width * channels, `the picture ${tag}`);
  const image = new ImageData(width, height);
  for (let pixel = 0; pixel < height * width; pixel++) {
    for (let channel = 0; channel < 4; channel++) {
      const from = channels === 1 ? 0 : channel;
      image.data[4 * pixel + channel] = channel === 3 && channels < 4 ? 255 : bytes[pixel * channels + from]!;
    }
  }
  const canvas = h('canvas', {
    width,
    height,
    role: 'img',
    'aria-label': `${tag} of ${name} at step ${picture.step}`
  });
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  const large = Math.max(1, Math.floor(LEAST_SIDE / Math.max(width, height)));
  canvas.style.width = `${width * large}px`;
  canvas.style.imageRendering = large > 1 ? 'pixelated' : 'auto';
  const smaller = full_width > width || full_height > height ? ', made smaller' : '';
  card.append(caption(picture, name, dark, ` · ${full_width} × ${full_height}${smaller}`), canvas);
  return card;
}

/** A text, as it was written. */
export function textCard(text: RunsText, name: string, dark: boolean): HTMLElement {
  const more = text.left_out > 0 ? ` · ${grouped(text.left_out)} characters more in the log` : '';
  return h(
    'figure',
    { class: 'wb-runs-text', 'data-testid': 'wb-text-card' },
    caption(text, name, dark, more),
    h(
      'div',
      { class: 'wb-runs-words', tabindex: 0, role: 'region', 'aria-label': `${text.tag} of ${name}` },
      text.text
    )
  );
}
