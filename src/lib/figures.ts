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

/** `0 B`, `1.5 KiB`, `12.3 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${formatCount(bytes)} B`;
  const isSmall = bytes < 1024 ** 2;
  return `${(bytes / (isSmall ? 1024 : 1024 ** 2)).toFixed(1)} ${isSmall ? 'KiB' : 'MiB'}`;
}
