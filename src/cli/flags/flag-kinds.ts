/**
 * The kinds of values that flags take. Each says how a value is written, which are allowed, and what the option holds.
 */
import { formatDuration, parseDuration, TIMER_MS_MAX } from '../../lib/duration.ts';
import { parseBool } from '../../lib/parse-bool.ts';

/** A value is not allowed. `message` says what is: one sentence with its full stop. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

export interface Kind<T, Unit extends string = ''> {
  /** The value as `--help` writes it: `<required>` or `[optional]`. */
  readonly placeholder: string;
  /** The suffix of the option's name, so that a number tells its unit: `Ms` of `shardDeadlineMs`. */
  readonly unit: Unit;
  /** What is allowed, for `--help` and the documents; '' = the help of the flag says it. */
  readonly allowed: string;
  /** @throws ValueError */
  readonly parse: (text: string) => T;
  /** The values are arrays, and those of a flag that comes several times are joined. */
  readonly joins?: true;
}

/** Any text. An empty default is shown as `none`. */
export function text(placeholder: string): Kind<string> {
  return { placeholder, unit: '', allowed: '', parse: (said) => said };
}

/** A text that `parse` reads, which may return any type. */
export function parsed<T>(placeholder: string, parse: (text: string) => T): Kind<T> {
  return { placeholder, unit: '', allowed: '', parse };
}

/** Several texts, separated by commas. The flag may be repeated. */
export function list(placeholder: string): Kind<readonly string[]> {
  return {
    placeholder,
    unit: '',
    allowed: '',
    parse: (said) => said.split(','),
    joins: true,
  };
}

/** What Go's ParseBool takes, as in pflag. The flag alone means true. */
export const bool: Kind<boolean> = {
  placeholder: '[bool]',
  unit: '',
  allowed: '',
  parse(said) {
    const value = parseBool(said);
    if (value !== null) return value;
    throw new ValueError('Allowed: true or false.');
  },
};

const WHOLE = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** A whole number from `min` to `max`, both included. */
export function integer(min: number, max: number): Kind<number> {
  return {
    placeholder: '<n>',
    unit: '',
    allowed: `${min} to ${max}`,
    parse(said) {
      const value = WHOLE.test(said) ? Number(said) : Number.NaN;
      if (value >= min && value <= max) return value;
      throw new ValueError(`Allowed: a whole number from ${min} to ${max}.`);
    },
  };
}

/** A whole number of MiB. */
export function mebibytes(min: number, max: number): Kind<number, 'Mb'> {
  return { ...integer(min, max), placeholder: '<MiB>', unit: 'Mb' };
}

/** As `integer`. A number out of range is refused in kube-controller-manager's words. @param name the flag's name */
export function within(name: string, min: number, max: number): Kind<number> {
  const kind = integer(min, max);
  return {
    ...kind,
    parse(said) {
      const value = WHOLE.test(said) ? Number(said) : Number.NaN;
      if (!(value < min || value > max)) return kind.parse(said);
      const bound = value < min ? `less than ${min}` : `more than ${max}`;
      throw new ValueError(
        `${name} must not be ${bound}, but got ${value}. Allowed: a whole number from ${min} to ${max}.`,
      );
    },
  };
}

/** A decimal number from `min` to `max`, both included, as Go's ParseFloat reads it, without hexadecimal numbers. */
export function number(min: number, max: number): Kind<number> {
  return {
    placeholder: '<number>',
    unit: '',
    allowed: `${min} to ${max}`,
    parse(said) {
      const value = DECIMAL.test(said) ? Number(said) : Number.NaN;
      if (value >= min && value <= max) return value;
      throw new ValueError(`Allowed: a number from ${min} to ${max}.`);
    },
  };
}

const DAY_MS = 86_400_000;

/** The most whole days that a timer of Node.js waits. */
export const WAIT_MS_MAX = Math.floor(TIMER_MS_MAX / DAY_MS) * DAY_MS;

/** Go's duration text, from `minMs` to `maxMs`, both included. The option holds milliseconds. */
export function duration(minMs: number, maxMs: number = Infinity): Kind<number, 'Ms'> {
  const least = `at least ${formatDuration(minMs)}`;
  const most = maxMs === Infinity ? [] : [`at most ${formatDuration(maxMs)}`];
  return {
    placeholder: '<duration>',
    unit: 'Ms',
    allowed: [...(minMs === 0 ? [] : [least]), ...most].join(', '),
    parse(said) {
      const ms = parseDuration(said);
      if (ms !== null && ms >= minMs && ms <= maxMs) return ms;
      throw new ValueError(`Allowed: a duration such as 1h30m, 5s or 500ms, ${[least, ...most].join(' and ')}.`);
    },
  };
}

/**
 * Reads a rate as client-go does: 0 means client-go's default. A number below 0 means `below`; if `below` is null, it
 * is refused.
 * @returns -1 for a number below 0
 */
export function rate(kind: Kind<number>, byDefault: number, below: string | null): Kind<number> {
  const meanings = `0 for client-go's default of ${byDefault}${below === null ? '' : `, below 0 for ${below}`}`;
  return {
    ...kind,
    allowed: `${kind.allowed}, ${meanings}`,
    parse(said) {
      const value = DECIMAL.test(said) ? Number(said) : Number.NaN;
      if (value === 0) return byDefault;
      if (value < 0 && below !== null) return -1;
      try {
        return kind.parse(said);
      } catch (error) {
        if (!(error instanceof ValueError)) throw error;
        throw new ValueError(`${error.message.replace(/\.$/, '')}, ${meanings}.`);
      }
    },
  };
}

/** Reads a period as kube-controller-manager does: a period below 0 is 0, and one above 0 is at least `leastMs`. */
export function period(minMs: 0, leastMs: number): Kind<number, 'Ms'> {
  const kind = duration(minMs);
  return {
    ...kind,
    allowed: leastMs === 0 ? kind.allowed : `0, or at least ${formatDuration(leastMs)}`,
    parse(said) {
      const ms = parseDuration(said);
      if (ms !== null && ms <= 0) return 0;
      return Math.max(kind.parse(said), leastMs);
    },
  };
}

/** An empty text among `allowed` is as good as no flag, and is not told. */
export function choice<const T extends string>(placeholder: string, allowed: readonly T[]): Kind<T> {
  const named = allowed.filter((one) => one !== '').join(', ');
  return {
    placeholder,
    unit: '',
    allowed: named,
    parse(said) {
      const found = allowed.find((one) => one === said);
      if (found !== undefined) return found;
      throw new ValueError(`Allowed: ${named}.`);
    },
  };
}
