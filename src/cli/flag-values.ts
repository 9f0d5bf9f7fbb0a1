import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { formatDuration, parseDuration } from '../lib/duration.ts';
import { parseBool } from '../lib/parse-bool.ts';
import { HelpShown, UsageError } from './usage.ts';

/** Declares one flag with a checked value; `shown` is the default as --help writes it. */
export function add<T>(
  command: Command,
  flags: string,
  description: string,
  parse: (text: string) => T,
  value: T,
  shown?: string,
): void {
  const option = new Option(flags, description).argParser(parse);
  option.default(value, shown ?? (value === '' ? 'none' : String(value)));
  command.addOption(option);
}

/**
 * Runs commander on `args` without letting it print errors or exit.
 * @throws UsageError with one line, HelpShown
 */
export function parseWith(command: Command, args: readonly string[], print: (text: string) => void): void {
  command
    .exitOverride()
    .allowExcessArguments(false)
    .showSuggestionAfterError(true)
    .configureOutput({ writeOut: print, writeErr: () => undefined });
  try {
    command.parse(args.map(dashed), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed' || error.code === 'commander.help') throw new HelpShown(error.message);
    throw new UsageError(`${oneLine(error.message)}${HINTS[error.code] ?? ''}`);
  }
}

/** kube-controller-manager takes `--kube_api_qps` for `--kube-api-qps`; `-v=4` reaches commander as the value `=4`. */
function dashed(arg: string): string {
  if (arg.startsWith('-v=')) return `-${arg}`;
  if (!arg.startsWith('--')) return arg;
  const equals = arg.indexOf('=');
  const name = equals < 0 ? arg : arg.slice(0, equals);
  return name.replaceAll('_', '-') + arg.slice(name.length);
}

/** What is allowed, where commander's own message does not say so. */
const HINTS: Readonly<Record<string, string>> = {
  'commander.unknownOption': '. Allowed: the flags that --help lists.',
  'commander.excessArguments': ' Allowed: flags, written --flag=value.',
  'commander.optionMissingArgument': '. Allowed: --flag=value, see --help.',
};

function oneLine(message: string): string {
  return message
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ')
    .trim();
}

export function asText(text: string): string {
  return text;
}

/** As pflag: what Go's ParseBool takes. */
export function bool(text: string): boolean {
  const value = parseBool(text);
  if (value !== null) return value;
  throw new InvalidArgumentError('Allowed: true or false.');
}

/** A whole number from `min` to `max`, both included. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Allowed: a whole number from ${min} to ${max}.`);
  };
}

/** A whole number from `min` to `max`, both included; out of range it is refused in kube-controller-manager's words. */
export function within(name: string, min: number, max: number): (text: string) => number {
  const parse = integer(min, max);
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError) || !/^[+-]?\d+$/.test(text)) throw error;
      const bound = Number(text) < min ? `less than ${min}` : `more than ${max}`;
      throw new InvalidArgumentError(`${name} must not be ${bound}, but got ${Number(text)}. ${error.message}`);
    }
  };
}

/** A decimal number from `min` to `max`, both included, as Go's ParseFloat reads it but for hexadecimals. */
export function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Allowed: a number from ${min} to ${max}.`);
  };
}

/** Go's duration text, at least `minMs`; gives milliseconds. */
export function duration(minMs: number): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms !== null && ms >= minMs) return ms;
    throw new InvalidArgumentError(
      `Allowed: a duration such as 1h30m, 5s or 500ms, at least ${formatDuration(minMs)}.`,
    );
  };
}

/** What `parse` takes, and these spellings of a value outside its range that has a meaning of its own. */
export function or(
  spellings: readonly string[],
  value: number,
  meaning: string,
  parse: (text: string) => number,
): (text: string) => number {
  return (text) => {
    if (spellings.includes(text)) return value;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new InvalidArgumentError(`${error.message.replace(/\.$/, '')}, or ${spellings[0]} for ${meaning}.`);
    }
  };
}

export function choice(allowed: readonly string[]): (text: string) => string {
  return (text) => {
    if (allowed.includes(text)) return text;
    throw new InvalidArgumentError(`Allowed: ${allowed.join(', ')}.`);
  };
}

/** The key of a label, perhaps with a prefix (`example.com/name`), or nothing. */
export function labelKey(text: string): string {
  if (text === '' || LABEL_KEY.test(text)) return text;
  throw new InvalidArgumentError('Allowed: the key of a label, such as example.com/endpoints-by, or nothing.');
}

const LABEL_KEY =
  /^(?:(?=[^/]{1,253}\/)[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?(?=.{1,63}$)[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/;
