/**
 * Exponential and natural logarithm that are the same on every machine, to the bit. V8 has its own from C++, of which
 * compilers for some processors fuse multiplications with additions, so their last bits differ. JavaScript is never fused.
 * Both algorithms are those of fdlibm: the argument is brought near 0 or 1, and a polynomial gives the rest. Each result is
 * off by less than one unit in the last place.
 */

/** The logarithm of 2 in two parts. The first one ends in zeros, so that its product with an exponent is exact. */
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;

/** Beyond these arguments the result is more than any number, and less than half of the least one. */
const EXP_MOST = 709.782712893384;
const EXP_LEAST = -745.1332191019411;

/** A number and its bits, sign and exponent first. It keeps nothing from one call to the next. */
const bits = new DataView(new ArrayBuffer(8));

export function exp(x: number): number {
  if (x > EXP_MOST) return Infinity;
  if (x < EXP_LEAST) return 0;
  // It is 2^k exp(r), where r is at most half of the logarithm of 2.
  const k = Math.abs(x) > Math.LN2 / 2 ? Math.trunc(x * Math.LOG2E + (x < 0 ? -0.5 : 0.5)) : 0;
  const high = x - k * LN2_HIGH;
  const low = k * LN2_LOW;
  const r = high - low;
  const t = r * r;
  const c =
    r -
    t *
      (0.16666666666666602 +
        t *
          (-0.0027777777777015593 +
            t * (6.613756321437934e-5 + t * (-1.6533902205465252e-6 + t * 4.1381367970572385e-8))));
  const y = 1 - (low - (r * c) / (2 - c) - high);
  if (k === 1024) return y * 2 * twoTo(1023);
  // A result below 2^-1022 has fewer bits, and is rounded once.
  return k < -1021 ? y * twoTo(k + 1000) * twoTo(-1000) : y * twoTo(k);
}

/** Of a normal number. */
function twoTo(exponent: number): number {
  bits.setInt32(0, (exponent + 1023) << 20);
  bits.setInt32(4, 0);
  return bits.getFloat64(0);
}

export function log(x: number): number {
  if (!(x > 0)) return x === 0 ? -Infinity : Number.NaN;
  if (x === Infinity) return x;
  // It is k log(2) + log(1 + f), where 1 + f is from the root of 1/2 to that of 2.
  const isSmall = x < SMALLEST_NORMAL;
  bits.setFloat64(0, isSmall ? x * TWO_TO_54 : x);
  const word = bits.getInt32(0);
  const fraction = word & 0xfffff;
  const carry = (fraction + 0x95f64) & 0x100000;
  const k = (word >> 20) - 1023 + (carry >> 20) - (isSmall ? 54 : 0);
  bits.setInt32(0, fraction | (carry ^ 0x3ff00000));
  const f = bits.getFloat64(0) - 1;
  const high = k * LN2_HIGH;
  const low = k * LN2_LOW;
  if (((fraction + 2) & 0xfffff) < 3) {
    // Few terms of the series are enough for an f so near 0.
    const rest = f * f * (0.5 - f / 3);
    return k === 0 ? f - rest : high - (rest - low - f);
  }
  const s = f / (2 + f);
  const z = s * s;
  const w = z * z;
  const even = w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373));
  const odd = z * (0.6666666666666735 + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)));
  const rest = even + odd;
  // Where f is large, half of its square is taken out of the rest, which is then exact in more bits.
  if (fraction < 0x6147a || fraction > 0x6b851) {
    return k === 0 ? f - s * (f - rest) : high - (s * (f - rest) - low - f);
  }
  const half = 0.5 * f * f;
  return k === 0 ? f - (half - s * (half + rest)) : high - (half - (s * (half + rest) + low) - f);
}

const SMALLEST_NORMAL = 2 ** -1022;
const TWO_TO_54 = 2 ** 54;
