/** The most characters that a server writes. */
const LENGTH_MAX = 64;
const FORM = /^\+?(?=\.?\d)(\d*)\.?(\d*)(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;
const NANO_PER_UNIT = 1_000_000_000n;
/** The largest quantity, as upstream. */
const NANO_MAX = (2n ** 63n - 1n) * NANO_PER_UNIT;
const DECIMAL_EXPONENTS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_SUFFIXES = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/**
 * A Quantity (`2`, `1500m`, `0.5`, `1e3`, `4Ki`) in billionths, the finest step there is. Finer values are rounded up.
 * @returns null when `text` is no quantity, or negative
 */
export function parseQuantityNano(text: string): bigint | null {
  if (text.length > LENGTH_MAX) return null;
  const match = FORM.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = '', exponent, suffix = ''] = match;
  const digits = BigInt(whole + fraction);
  if (digits === 0n) return 0n;
  const binary = BINARY_SUFFIXES.indexOf(suffix) + 1;
  const scaled = binary > 0 ? digits * 1024n ** BigInt(binary) : digits;
  const power = (exponent === undefined ? (DECIMAL_EXPONENTS[suffix] ?? 0) : Number(exponent)) + 9 - fraction.length;
  // Beyond these powers, every mantissa of this length gives the largest or the smallest quantity.
  if (power > LENGTH_MAX) return NANO_MAX;
  if (power < -2 * LENGTH_MAX) return 1n;
  const nano = power >= 0 ? scaled * 10n ** BigInt(power) : divideUp(scaled, 10n ** BigInt(-power));
  return nano < NANO_MAX ? nano : NANO_MAX;
}

/** The quotient of two numbers that are not negative, rounded up. */
export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
