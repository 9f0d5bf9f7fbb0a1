/**
 * Flags as data: one row for each flag. The parser, the help and the tables of the documents (`npm run docs`) come from
 * them.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { wrapWords } from '../../lib/wrap-words.ts';
import { bool, ValueError, type Kind } from './flag-kinds.ts';
import { HelpShown, UsageError } from '../usage.ts';

export interface Flag<T, Unit extends string = string> {
  readonly kind: Kind<T, Unit>;
  /** The default in the flag's own syntax; '' = there is none. */
  readonly default: string;
  readonly help: string;
  /** What turning the flag on costs. */
  readonly costs?: string;
  /** One letter, for `-v` beside `--v`. */
  readonly short?: string;
}

/** Flags by name, without dashes in front. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

export interface FlagGroup {
  readonly title: string;
  readonly flags: Flags;
}

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** The options that flags set. `--shard-deadline`, a duration, sets `shardDeadlineMs`. */
export type OptionsOf<F> = {
  readonly [
    Name in keyof F & string as F[Name] extends Flag<unknown, infer Unit> ? `${Camel<Name>}${Unit}` : never
  ]: F[Name] extends Flag<infer T> ? T : never;
};

export interface CommandFlags {
  /** The name of the command, such as `endpointd run`. */
  readonly command: string;
  readonly description: string;
  /**
   * Names of the arguments beside the flags, in order. The options have the arguments by these names. The last may be
   * `name...`: one or more.
   */
  readonly arguments?: readonly string[];
  readonly groups: readonly FlagGroup[];
}

/**
 * Reads the arguments after the command's name.
 * @param print takes the text of `--help`
 * @returns every option, by the names of `OptionsOf`
 * @throws UsageError with one line, or HelpShown
 */
export function parseFlags(
  flags: CommandFlags,
  args: readonly string[],
  print: (text: string) => void,
): Readonly<Record<string, unknown>> {
  return readFlags(flags, args, print).options;
}

export interface ReadFlags {
  readonly options: Readonly<Record<string, unknown>>;
  /** The text of each flag's value by the flag's name: from the command line, or the default. */
  readonly texts: Readonly<Record<string, string>>;
  /** Names of the flags that the command line has. */
  readonly given: ReadonlySet<string>;
}

/** As `parseFlags`, with the texts of the values too. */
export function readFlags(
  { command: name, description, arguments: names = [], groups }: CommandFlags,
  args: readonly string[],
  print: (text: string) => void,
): ReadFlags {
  const command = new Command(name).description(description);
  const texts: Record<string, string> = {};
  const given = new Set<string>();
  command.usage([...names.map((argument) => `<${argument}>`), '[--flag=value ...]'].join(' '));
  for (const argument of names) command.argument(`<${argument}>`);
  const rows = groups.flatMap(({ title, flags }) => {
    if (title !== '') command.optionsGroup(`${title}:`);
    return Object.entries(flags).map(([flag, row]) => ({ row, option: addFlag(command, flag, row, { texts, given }) }));
  });
  command.helpOption('-h, --help', 'this text').configureHelp({ helpWidth: HELP_COLUMNS, formatItem });
  const bools = new Set(rows.flatMap(({ row, option }) => (row.kind === bool ? [option.long!] : [])));
  parseWith(
    command,
    args.map((arg) => dashed(arg, bools)),
    print,
  );
  const values = command.opts<Record<string, unknown>>();
  const said = names.map(
    (argument, at) => [argument.replace('...', ''), command.processedArgs[at] as unknown] as const,
  );
  const options = rows.map(
    ({ row, option }) => [`${option.attributeName()}${row.kind.unit}`, values[option.attributeName()]] as const,
  );
  return { options: Object.fromEntries<unknown>([...said, ...options]), texts, given };
}

/** The options that these flags set, and all other options. */
export function partOf<F extends Flags, O extends OptionsOf<F>>(
  flags: F,
  options: O,
): [OptionsOf<F>, Omit<O, keyof OptionsOf<F>>] {
  const names = new Set(
    Object.entries(flags).map(([name, { kind }]) => `${new Option(`--${name}`).attributeName()}${kind.unit}`),
  );
  const [own, others] = [true, false].map((isOwn) =>
    Object.fromEntries(Object.entries(options).filter(([name]) => names.has(name) === isOwn)),
  );
  return [own as OptionsOf<F>, others as Omit<O, keyof OptionsOf<F>>];
}

const HELP_COLUMNS = 80;
const TEXT_INDENT = ' '.repeat(8);

/** A flag with its help below. Beside the longest flags the help would have only twenty columns. */
function formatItem(term: string, _termWidth: number, text: string): string {
  const lines = text === '' ? [] : wrapWords(text, HELP_COLUMNS - TEXT_INDENT.length);
  return [`  ${term}`, ...lines.map((line) => TEXT_INDENT + line)].join('\n');
}

function addFlag(
  command: Command,
  name: string,
  { kind, help, short, ...row }: Flag<unknown>,
  { texts, given }: { readonly texts: Record<string, string>; readonly given: Set<string> },
): Option {
  texts[name] = row.default;
  const dashes = `${short === undefined ? '' : `-${short}, `}--${name} ${kind.placeholder}`;
  const option = new Option(dashes, kind.allowed === '' ? help : `${help} [${kind.allowed}]`);
  const byDefault = kind.parse(row.default);
  option.default(byDefault, row.default === '' ? 'none' : row.default);
  option.argParser((text: string, before: unknown) => {
    const value = read(kind, text);
    given.add(name);
    // The first given value replaces the default, as in upstream's flags.
    const joins = kind.joins === true && before !== byDefault;
    texts[name] = joins ? `${texts[name]},${text}` : text;
    return joins ? [...(before as unknown[]), ...(value as unknown[])] : value;
  });
  command.addOption(option);
  return option;
}

function read<T>(kind: Kind<T, string>, text: string): T {
  try {
    return kind.parse(text);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new InvalidArgumentError(error.message);
  }
}

/** Runs commander on `args` without letting it print errors or exit. */
function parseWith(command: Command, args: readonly string[], print: (text: string) => void): void {
  command
    .exitOverride()
    .allowExcessArguments(false)
    .showSuggestionAfterError(true)
    .configureOutput({ writeOut: print, writeErr: () => undefined });
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed' || error.code === 'commander.help') throw new HelpShown(error.message);
    throw new UsageError(`${oneLine(error.message)}${HINTS[error.code] ?? ''}`);
  }
}

/**
 * kube-controller-manager takes `--kube_api_qps` for `--kube-api-qps`; `-v=4` reaches commander as the value `=4`. Behind
 * a flag that means true alone, commander would take the next word for its value, and pflag does not.
 */
function dashed(arg: string, bools: ReadonlySet<string>): string {
  if (arg.startsWith('-v=')) return `-${arg}`;
  if (!arg.startsWith('--')) return arg;
  const equals = arg.indexOf('=');
  const name = (equals < 0 ? arg : arg.slice(0, equals)).replaceAll('_', '-');
  if (equals >= 0) return name + arg.slice(equals);
  return bools.has(name) ? `${name}=true` : name;
}

/** What is allowed, for messages of commander that do not say it. */
const HINTS: Readonly<Record<string, string>> = {
  'commander.unknownOption': '. Allowed: the flags that --help lists.',
  'commander.excessArguments': ' Allowed: flags, written --flag=value.',
  'commander.missingArgument': '. Allowed: what --help shows.',
  'commander.optionMissingArgument': '. Allowed: --flag=value, see --help.',
};

function oneLine(message: string): string {
  return message
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ')
    .trim();
}
