/** How wide text is, without asking the page: pictures are laid out before they are in it. */

/** Roughly how wide a text is in pixels; a little too wide rather than too narrow. */
export function textWidth(text: string, size = 11): number {
  let width = 0;
  for (const letter of text) {
    // From ⺀ on letters are about as wide as tall.
    width += /[il.,:;|' ]/.test(letter) ? 0.32 : /[mwMW@%]/.test(letter) ? 0.92 : letter > '⺀' ? 1.05 : 0.62;
  }
  return width * size;
}

/** A text cut to `width` pixels, with … where something is missing. */
export function shorten(text: string, width: number, size = 11): string {
  let short = text;
  while (short.length > 2 && textWidth(short, size) > width) {
    short = short.slice(0, short.endsWith('…') ? -2 : -1).trimEnd() + '…';
  }
  return short;
}

/** A part of a word at the end of a text, and what parts it from the words before. */
const LAST_PART = /[\s._/-]+[^\s._/-]*$/;
const FIRST_PART = /^[^\s._/-]*[\s._/-]+/;

/**
 * A text of at most `most` letters; the middle goes, because both ends of a path tell more. Where words end near, it goes
 * between words: half a word is read as another one.
 */
export function middleOut(text: string, most: number): string {
  if (text.length <= most) {
    return text;
  }
  const front = Math.ceil((most - 1) / 2);
  const from = text.length - (most - 1 - front);
  const [left, right] = [text.slice(0, front), text.slice(from)];
  // With a letter more it shows whether a word is cut at all.
  const begin = text
    .slice(0, front + 1)
    .replace(LAST_PART, '')
    .slice(0, front);
  const end = text
    .slice(from - 1)
    .replace(FIRST_PART, '')
    .slice(-right.length);
  return (3 * begin.length >= front ? begin : left) + '…' + (3 * end.length >= right.length ? end : right);
}
