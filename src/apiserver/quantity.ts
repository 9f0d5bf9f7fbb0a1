/**
 * An amount of a resource such as `100m` or `2Gi`, read and written as the real server does in lists of resources: to a
 * thousandth, rounded away from zero.
 */
export interface Quantity {
  /** The amount in thousandths. */
  readonly milli: bigint;
  /** The text that is stored and sent. */
  readonly text: string;
}

/** The text is no quantity. The message is in the words of the real server. */
export class QuantityError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'QuantityError';
  }
}

const FORM = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const WRONG_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_SUFFIX = "unable to parse quantity's suffix";
/** Bounds of our own: longer texts and larger exponents cost much computing, and nobody needs them. */
const CHARACTERS_MAX = 400;
const EXPONENT_MAX = 400;

const DECIMAL: ReadonlyMap<string, number> = new Map(
  Object.entries({ n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }),
);
const DECIMAL_SUFFIXES: ReadonlyMap<number, string> = new Map([...DECIMAL].map(([suffix, power]) => [power, suffix]));
const BINARY: readonly string[] = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const BINARY_MAX = 2n ** 63n - 1n;
/** The server keeps numbers of so many digits without a big number. Such texts may stay as they were sent. */
const SHORT_DIGITS_MAX = 18;

type Notation = 'decimal' | 'exponent' | 'binary';

/** @throws QuantityError */
export function parseQuantity(given: string): Quantity {
  const text = given.trim();
  const match = text === '' || text.length > CHARACTERS_MAX ? null : FORM.exec(text);
  if (match === null) throw new QuantityError(WRONG_FORM);
  const [, sign = '', whole = '', fraction = '', suffix = ''] = match;
  const { notation, power } = readSuffix(suffix);
  const digits = BigInt(`0${whole}${fraction}`);
  const tens = (notation === 'binary' ? 0 : power) - fraction.length + 3;
  let milli = notation === 'binary' ? digits * 2n ** BigInt(power) : digits;
  milli = tens >= 0 ? milli * 10n ** BigInt(tens) : divideUp(milli, 10n ** BigInt(-tens));
  if (notation === 'binary' && milli > BINARY_MAX * 1000n) milli = BINARY_MAX * 1000n;
  if (sign === '-') milli = -milli;
  const short = whole.replace(/^0+/, '').length + fraction.length <= SHORT_DIGITS_MAX;
  const plain = short && fraction === '' && notation !== 'binary' && power >= 0 && power % 3 === 0;
  return { milli, text: plain && digits % 1000n !== 0n ? text : format(milli, notation) };
}

/** @throws QuantityError */
function readSuffix(suffix: string): { readonly notation: Notation; readonly power: number } {
  const decimal = DECIMAL.get(suffix);
  if (decimal !== undefined) return { notation: 'decimal', power: decimal };
  const binary = BINARY.indexOf(suffix);
  if (binary >= 0) return { notation: 'binary', power: 10 * (binary + 1) };
  const exponent = /^[eE]([+-]?[0-9]+)$/.exec(suffix)?.[1];
  if (exponent === undefined || Math.abs(Number(exponent)) > EXPONENT_MAX) throw new QuantityError(WRONG_SUFFIX);
  return { notation: 'exponent', power: Number(exponent) };
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

/** The shortest number without a fraction that a suffix allows. */
function format(milli: bigint, notation: Notation): string {
  if (milli === 0n) return '0';
  const whole = milli / 1000n;
  if (notation === 'binary' && milli % 1000n === 0n && (whole >= 1024n || whole <= -1024n)) {
    let number = whole;
    let power = 0;
    for (; power < BINARY.length && number % 1024n === 0n; power++) number /= 1024n;
    return `${number}${power === 0 ? '' : BINARY[power - 1]}`;
  }
  let number = milli;
  let power = -3;
  for (; number % 1000n === 0n; power += 3) number /= 1000n;
  const suffix = notation === 'exponent' ? undefined : DECIMAL_SUFFIXES.get(power);
  return `${number}${suffix ?? (power === 0 ? '' : `e${power}`)}`;
}
