/** How numbers are written: three significant digits, SI prefixes for sizes, a real minus sign. */

const MINUS = '−';
const MISSING = '–';

function withMinus(text: string): string {
  return text.replace(/-/g, MINUS);
}

/** A value with three significant digits; what is missing or not finite says so. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) {
    return MISSING;
  }
  if (!Number.isFinite(value)) {
    return Number.isNaN(value) ? 'NaN' : value > 0 ? 'inf' : MINUS + 'inf';
  }
  const size = Math.abs(value);
  if (value === 0) {
    return '0';
  }
  if (Number.isInteger(value) && size < 1e5) {
    return withMinus(String(value));
  }
  if (size >= 1e5 || size < 1e-4) {
    const [digits, exponent] = value.toExponential(2).split('e');
    return withMinus(`${digits}e${Number(exponent)}`);
  }
  if (size >= 100) {
    return withMinus(value.toFixed(0));
  }
  return withMinus(value.toPrecision(3));
}

/** A value as it is, for hovering and copying. */
export function exact(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : withMinus(String(value));
}

function trimmed(value: number): string {
  const text = value >= 100 ? value.toFixed(0) : value.toPrecision(3);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

const PREFIXES = ['', 'K', 'M', 'G', 'T', 'P'];

/** A size with an SI prefix: `25.1 K`. */
export function si(value: number, unit = ''): string {
  let step = 0;
  let size = Math.abs(value);
  // From here on it would be written as 1000.
  while (step < PREFIXES.length - 1 && size >= 999.5) {
    size /= 1000;
    step += 1;
  }
  const prefix = PREFIXES[step]!;
  const text = (value < 0 ? MINUS : '') + trimmed(size);
  return prefix || unit ? `${text} ${prefix}${unit}` : text;
}

/** A number of bytes, 1024 to a step: `98 KB`. */
export function bytes(value: number): string {
  let step = 0;
  let size = value;
  // From here on it would be written as 1024.
  while (step < PREFIXES.length - 1 && size >= 1023.5) {
    size /= 1024;
    step += 1;
  }
  return `${trimmed(size)} ${PREFIXES[step]!}B`;
}

/** A fraction as per cent: `0.02 %`, `81 %`. Nothing that is there rounds to zero. */
export function percent(fraction: number | null | undefined): string {
  if (fraction === null || fraction === undefined || !Number.isFinite(fraction)) {
    return MISSING;
  }
  const value = fraction * 100;
  const size = Math.abs(value);
  if (size === 0) {
    return '0 %';
  }
  if (size < 0.005) {
    return '< 0.01 %';
  }
  // Nor does what is left: 99.97 % is not 100 %.
  if (value < 100 && value >= 99.95) {
    return value >= 99.995 ? '> 99.99 %' : `${value.toFixed(2)} %`;
  }
  const digits = size < 10 ? 2 : 1;
  return `${withMinus(value.toFixed(digits).replace(/\.?0+$/, ''))} %`;
}

/** A ratio in decibels with one decimal. */
export function decibels(value: number | null | undefined): string {
  if (value === null || value === undefined) {
    return MISSING;
  }
  const text = value.toFixed(1);
  // What rounds to nothing has no sign.
  return `${text === '-0.0' ? '0.0' : withMinus(text)} dB`;
}

/** A change with its sign. */
export function signed(value: number, digits = 1): string {
  const text = Math.abs(value).toFixed(digits);
  return (value < 0 && Number(text) !== 0 ? MINUS : '+') + text;
}

/** How long ago something was, coarsely: `3 s ago`. */
export function ago(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 1) {
    return 'now';
  }
  if (seconds < 60) {
    return `${seconds} s ago`;
  }
  if (seconds < 3600) {
    return `${Math.floor(seconds / 60)} min ago`;
  }
  if (seconds < 86400) {
    return `${Math.floor(seconds / 3600)} h ago`;
  }
  return `${Math.floor(seconds / 86400)} d ago`;
}

/** How long something took, to three digits: `12.0 µs`, `3.10 ms`, `1.25 s`. */
export function seconds(value: number): string {
  const [factor, unit] = value < 1e-3 ? [1e6, 'µs'] : value < 1 ? [1e3, 'ms'] : [1, 's'];
  return `${(value * factor).toPrecision(3).replace(/e\+.*/, '')} ${unit}`;
}

/** How long something took. */
export function duration(seconds: number): string {
  if (seconds < 1) {
    const milliseconds = seconds * 1000;
    return `${milliseconds < 10 ? milliseconds.toFixed(1) : milliseconds.toFixed(0)} ms`;
  }
  if (seconds < 59.95) {
    return `${trimmed(seconds)} s`;
  }
  const whole = Math.round(seconds);
  if (whole < 3600) {
    return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  }
  const minutes = Math.round(whole / 60);
  return minutes < 1440
    ? `${Math.floor(minutes / 60)} h ${minutes % 60} min`
    : `${Math.floor(minutes / 1440)} d ${Math.round((minutes % 1440) / 60)} h`;
}

/** A whole number with commas between thousands. */
export function grouped(value: number): string {
  return withMinus(Math.round(value).toString()).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** What a person typed, as a number, or why it is none. */
export function parse(text: string): { readonly value: number } | { readonly problem: string } {
  const plain = text.trim().replace(/−/g, '-').replace(/\s+/g, '');
  if (plain === '') {
    return { problem: 'nothing was typed; type a number such as −1.5' };
  }
  // Not by `Number` alone, to which an empty text is 0 and 0x10 is 16.
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : Number.NaN;
  if (!Number.isFinite(value)) {
    return { problem: `“${text.trim().slice(0, 40)}” is not a finite number; type one such as −1.5 or 2e−3` };
  }
  return { value };
}

/** `1st`, `2nd`, `3rd`, `11th`. */
export function ordinal(value: number): string {
  const ending =
    value % 100 >= 11 && value % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th');
  return `${value}${ending}`;
}
