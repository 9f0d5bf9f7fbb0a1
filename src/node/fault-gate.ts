/**
 * Plays faults on demand in front of the embedded API server and behind it. Rules of faults come over HTTP from this
 * machine.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatFaultRule, parseFaultRule } from '../apiserver/fault-text.ts';
import {
  drawDelayMs,
  drawFate,
  faultReply,
  goneWatch,
  ruleFor,
  type Fate,
  type FaultReply,
  type FaultRule,
  type FaultTarget,
  type Verb,
} from '../apiserver/faults.ts';
import { asksForWatch } from '../apiserver/list-options.ts';
import { parseTarget } from '../apiserver/request.ts';
import { readRequestBody } from './request-body.ts';

/** GET shows the rules, PUT replaces them, DELETE ends them: one rule a line. */
export const FAULTS_PATH = '/endpointd/faults';

/** Room for some 600 rules. */
const RULES_BYTES_MAX = 64 * 1024;

export interface FaultGate {
  rules: readonly FaultRule[];
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Whether `FAULTS_PATH` is served to clients on this machine. */
  readonly admin: boolean;
}

/**
 * null = no rule and no flag asks for a gate, so requests take the shortest way.
 * @throws Error for a rule that cannot be read
 */
export function createFaultGate(rules: readonly string[], admin: boolean, random: () => number): FaultGate | null {
  return rules.length === 0 && !admin ? null : { rules: rules.map(parseFaultRule), admin, random };
}

/** What a watch is told of its rule. */
export interface WatchFaults {
  /** Whether the connection is to be cut now. */
  readonly cuts: () => boolean;
  /** How long the next piece waits. */
  readonly holdMs: () => number;
}

export interface Passage {
  /** Whether the connection is reset after the request was carried out. */
  readonly loseReply: boolean;
  readonly watchFaults: WatchFaults | null;
}

/** Nothing happens to the request. */
export const FREE_PASSAGE: Passage = { loseReply: false, watchFaults: null };

/** Calls `pass` now or later, or never: then the gate has answered or lost the request. */
export function playFaults(
  gate: FaultGate,
  request: IncomingMessage,
  response: ServerResponse,
  pass: (passage: Passage) => void,
): void {
  const target = gate.rules.length === 0 ? null : targetOf(request);
  const rule = target === null ? null : ruleFor(gate.rules, target);
  if (rule === null) {
    pass(FREE_PASSAGE);
    return;
  }
  const { random } = gate;
  const fate = drawFate(rule, target!.verb, random);
  const watchFaults: WatchFaults = {
    cuts: () => rule.chances.cutWatch > 0 && random() < rule.chances.cutWatch,
    holdMs: () => (random() < rule.chances.lag ? drawDelayMs(rule.delay, random) : 0),
  };
  const arrive = (): void => {
    const { fault } = fate;
    if (fault === 'loseRequest') request.socket.destroy();
    else if (fault === 'none' || fault === 'loseReply') pass({ loseReply: fault === 'loseReply', watchFaults });
    else if (fault === 'gone' && target!.verb === 'watch') {
      refuse(response, goneWatch(request.headers.accept ?? ''));
    } else refuse(response, faultReply(fault, random));
  };
  delayed(fate, arrive);
}

function refuse(response: ServerResponse, { status, headers, body }: FaultReply): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function delayed({ delayMs }: Fate, run: () => void): void {
  if (delayMs === 0) run();
  else setTimeout(run, delayMs).unref();
}

/** null = the request is for no resource. Such requests never fail. */
function targetOf({ method, url = '', headers }: IncomingMessage): FaultTarget | null {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  try {
    const target = parseTarget(path);
    if (target === null) return null;
    const { resource, subresource, name } = target;
    const query = mark < 0 ? '' : url.slice(mark + 1);
    return {
      verb: verbOf(method ?? 'GET', name === '', query),
      resource: subresource === '' ? resource.name : `${resource.name}/${subresource}`,
      userAgent: headers['user-agent'] ?? '',
    };
  } catch {
    // The server refuses such a request anyway.
    return null;
  }
}

function verbOf(method: string, collection: boolean, query: string): Verb {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return collection ? 'deletecollection' : 'delete';
    default:
      if (!collection) return 'get';
      return asksForWatch(new URLSearchParams(query)) ? 'watch' : 'list';
  }
}

/** Whether the request is for `FAULTS_PATH`, and is answered. */
export function answersAdmin(gate: FaultGate, request: IncomingMessage, response: ServerResponse): boolean {
  if (request.url !== FAULTS_PATH || !gate.admin || !isLoopback(request.socket.remoteAddress ?? '')) return false;
  readRequestBody(request, RULES_BYTES_MAX, (body) => {
    if (body === null) {
      reply(response, 413, `fault rules have at most ${RULES_BYTES_MAX} bytes\n`);
      return;
    }
    try {
      if (request.method === 'PUT') gate.rules = parseRules(body.toString());
      else if (request.method === 'DELETE') gate.rules = [];
      reply(response, 200, gate.rules.map((rule) => `${formatFaultRule(rule)}\n`).join(''));
    } catch (error) {
      reply(response, 400, `${(error as Error).message}\n`);
    }
  });
  return true;
}

function parseRules(text: string): FaultRule[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map(parseFaultRule);
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}
