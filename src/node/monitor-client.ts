/** Reads pages from the port of a running controller: endpointd's debug page, or the metrics of any controller. */
import { Pool } from 'undici';
import { failureMessage } from './failure.ts';
import { trustMachineAuthorities } from './machine-authorities.ts';

export interface MonitorConfig {
  /** Such as http://127.0.0.1:10267. If it has a path, that goes before the path of every request. */
  readonly url: string;
  /** Asked for each request; '' = none. */
  readonly readToken: () => Promise<string>;
  /** PEM; null = the authorities of the machine. */
  readonly ca: string | null;
  readonly verify: boolean;
  /** For how long a whole answer may take; 30 s by default. */
  readonly answerMsMax?: number;
}

export interface Monitor {
  /**
   * The text of a page. `path` is below the address and may have a query. @throws MonitorError for any answer but 200
   */
  readonly get: (path: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

export class MonitorError extends Error {
  /** 0 = no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message.replaceAll(/\s+/g, ' ').trim());
    this.name = 'MonitorError';
    this.status = status;
  }
}

const PART_MS_MAX = 10_000;
const ANSWER_MS_MAX = 30_000;
const ANSWER_BYTES_MAX = 64 * 2 ** 20;

/**
 * Waits at most 10 s for the headers of an answer, and for each part of its body, and 30 s for the whole answer, which
 * has at most 64 MiB.
 */
export function createMonitor({ url, readToken, ca, verify, answerMsMax = ANSWER_MS_MAX }: MonitorConfig): Monitor {
  const { origin, pathname } = new URL(url);
  const base = pathname.replace(/\/+$/, '');
  if (origin.startsWith('https:') && ca === null && verify) trustMachineAuthorities();
  const connect = { ...(ca === null ? {} : { ca }), rejectUnauthorized: verify };
  const pool = new Pool(origin, { connections: 2, headersTimeout: PART_MS_MAX, bodyTimeout: PART_MS_MAX, connect });
  return {
    async get(path) {
      const token = await readToken();
      const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
      const late = AbortSignal.timeout(answerMsMax);
      try {
        const { statusCode, body } = await pool.request({ method: 'GET', path: base + path, headers, signal: late });
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of body as AsyncIterable<Buffer>) {
          bytes += chunk.length;
          if (bytes > ANSWER_BYTES_MAX) throw new MonitorError(0, `more than ${ANSWER_BYTES_MAX} bytes`);
          chunks.push(chunk);
        }
        const text = Buffer.concat(chunks).toString();
        if (statusCode === 200) return text;
        throw new MonitorError(statusCode, `${base + path}: status ${statusCode}: ${text.slice(0, 200)}`);
      } catch (error) {
        if (error instanceof MonitorError) throw error;
        if (late.aborted) throw new MonitorError(0, `no whole answer from ${origin} in ${answerMsMax / 1000} s`);
        throw new MonitorError(0, `no answer from ${origin}: ${failureMessage(error)}`);
      }
    },
    close: () => pool.destroy(),
  };
}
