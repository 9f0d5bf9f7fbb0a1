/**
 * A fault rule as one line of text, for flags and the admin path: `verb=update|patch,resource=endpoints,
 * lose-reply=0.01,lag=0.1,delay=exponential:50ms`. A condition that is not given fits all requests; a fault that is not
 * given never happens.
 */
import { formatDuration, parseDuration } from '../lib/duration.ts';
import { FAULTY_VERBS, NO_FAULTS, type Delay, type FaultChances, type FaultRule, type Verb } from './faults.ts';

const CHANCES: Readonly<Record<string, keyof FaultChances>> = {
  'lose-request': 'loseRequest',
  'lose-reply': 'loseReply',
  'server-error': 'serverError',
  'too-many': 'tooMany',
  gone: 'gone',
  'cut-watch': 'cutWatch',
  lag: 'lag',
};
const KEYS = ['verb', 'resource', 'user-agent', ...Object.keys(CHANCES), 'delay'];

/** @throws Error that names the wrong part, and what is allowed */
export function parseFaultRule(text: string): FaultRule {
  const chances: FaultChances = { ...NO_FAULTS };
  let verbs: readonly Verb[] = [];
  let resources: readonly string[] = [];
  let userAgent = '';
  let delay: Delay | null = null;
  for (const part of text.split(',')) {
    const equals = part.indexOf('=');
    const [key, value] = equals < 0 ? [part.trim(), ''] : [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
    if (key === 'verb') verbs = parseVerbs(value);
    else if (key === 'resource') resources = value.split('|');
    else if (key === 'user-agent') userAgent = value;
    else if (key === 'delay') delay = parseDelay(value);
    else if (Object.hasOwn(CHANCES, key)) chances[CHANCES[key]!] = parseChance(key, value);
    else throw new Error(`${JSON.stringify(key)} is not one of ${KEYS.join(', ')}`);
  }
  if ((delay === null) !== (chances.lag === 0)) {
    // A delay without a chance of lag is for every request. A chance of lag needs a delay.
    if (delay === null) throw new Error('lag needs a delay, such as delay=uniform:0s-2s');
    chances.lag = 1;
  }
  return { verbs, resources, userAgent, chances, delay: delay ?? { kind: 'fixed', ms: 0 } };
}

export function formatFaultRule({ verbs, resources, userAgent, chances, delay }: FaultRule): string {
  const parts: string[] = [];
  if (verbs.length > 0) parts.push(`verb=${verbs.join('|')}`);
  if (resources.length > 0) parts.push(`resource=${resources.join('|')}`);
  if (userAgent !== '') parts.push(`user-agent=${userAgent}`);
  for (const [key, field] of Object.entries(CHANCES)) if (chances[field] > 0) parts.push(`${key}=${chances[field]}`);
  if (chances.lag > 0) parts.push(`delay=${formatDelay(delay)}`);
  return parts.join(',');
}

function parseVerbs(text: string): readonly Verb[] {
  const verbs = text.split('|');
  const unknown = verbs.find((verb) => !(FAULTY_VERBS as readonly string[]).includes(verb));
  if (unknown === undefined) return verbs as Verb[];
  throw new Error(`verb ${JSON.stringify(unknown)} is not one of ${FAULTY_VERBS.join(', ')}`);
}

function parseChance(key: string, text: string): number {
  const value = /^(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw new Error(`${key}: ${JSON.stringify(text)} is not a chance from 0 to 1`);
}

function parseDelay(text: string): Delay {
  const [kind, rest = ''] = text.split(':', 2);
  const [first = '', second = ''] = rest.split('-', 2);
  const ms = parseDuration(first);
  const maxMs = parseDuration(second);
  if (kind === 'uniform' && ms !== null && maxMs !== null && maxMs >= ms) return { kind, minMs: ms, maxMs };
  if (kind === 'fixed' && ms !== null && second === '') return { kind, ms };
  if (kind === 'exponential' && ms !== null && second === '') return { kind, meanMs: ms };
  throw new Error(`delay ${JSON.stringify(text)} is not fixed:<duration>, uniform:<min>-<max> or exponential:<mean>`);
}

function formatDelay(delay: Delay): string {
  switch (delay.kind) {
    case 'fixed':
      return `fixed:${formatDuration(delay.ms)}`;
    case 'uniform':
      return `uniform:${formatDuration(delay.minMs)}-${formatDuration(delay.maxMs)}`;
    case 'exponential':
      return `exponential:${formatDuration(delay.meanMs)}`;
  }
}
