/** Figures as people read them. */

/** Made once: to make it takes twenty times as long as to use it. */
let counts: Intl.NumberFormat | undefined;

/** `10,934`. */
export function formatCount(count: number): string {
  counts ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
  return counts.format(count);
}

/** `0.017`, `1.25`, `12.3`, `10,934`: below 1 two significant digits, below 10 three. */
export function formatRate(rate: number): string {
  if (rate === 0 || Math.abs(rate) >= 10) return formatCount(rate);
  return rate.toLocaleString('en-US', { maximumSignificantDigits: rate < 1 ? 2 : 3 });
}

/** `1 write`, `10,934 writes`. */
export function plural(count: number, one: string): string {
  return `${formatCount(count)} ${count === 1 ? one : `${one}s`}`;
}

/** From the largest. */
type Units = readonly (readonly [unit: string, bytes: number])[];

const BINARY: Units = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];
const DECIMAL: Units = [
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
];

/** `0 B`, `1.5 KiB`, `12.3 MiB`, `2.0 GiB`. */
export function formatBytes(bytes: number): string {
  return bytesIn(BINARY, bytes, 1);
}

/** `0 B`, `1.5 kB`, `12.3 MB`, `2.0 GB`. @param digits behind the point, from a kilobyte on */
export function formatDecimalBytes(bytes: number, digits = 1): string {
  return bytesIn(DECIMAL, bytes, digits);
}

function bytesIn(units: Units, bytes: number, digits: number): string {
  const found = units.find(([, size]) => bytes >= size);
  return found === undefined ? `${formatCount(bytes)} B` : `${(bytes / found[1]).toFixed(digits)} ${found[0]}`;
}
