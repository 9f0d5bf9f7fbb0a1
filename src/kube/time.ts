/** Times of the API: RFC 3339 text in JSON, seconds and nanoseconds since the epoch in protobuf. */

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the range of RFC 3339. */
export const TIME_SECONDS_MIN = -62_135_596_800;
export const TIME_SECONDS_MAX = 253_402_300_799;

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Whole seconds since the epoch, rounded down; 0 when `text` is missing or not RFC 3339. */
export function parseTime(text: string | null | undefined): number {
  return parseMicroTime(text)?.seconds ?? 0;
}

/** null = `text` is missing or not RFC 3339. `nanos` is cut to whole microseconds, as the API stores it. */
export function parseMicroTime(text: string | null | undefined): { seconds: number; nanos: number } | null {
  const match = typeof text === 'string' ? RFC_3339.exec(text) : null;
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHours, offsetMinutes] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  // The setter takes years below 100 as they are, which Date.UTC does not.
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null;
  const local = date.getTime() / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  const offset = sign === undefined ? 0 : (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60;
  const seconds = sign === '-' ? local + offset : local - offset;
  if (seconds < TIME_SECONDS_MIN || seconds > TIME_SECONDS_MAX) return null;
  const micros = fraction === undefined ? 0 : Number(fraction.slice(0, 6).padEnd(6, '0'));
  return { seconds, nanos: micros * 1000 };
}

/**
 * Such as `2026-08-04T13:01:58Z`.
 * @throws RangeError outside the years 1 to 9999.
 */
export function formatTime(seconds: number): string {
  return `${upToSeconds(seconds)}Z`;
}

/**
 * Always six digits of fraction: `2026-08-04T13:01:58.000123Z`.
 * @throws RangeError outside the years 1 to 9999.
 */
export function formatMicroTime(seconds: number, nanos: number): string {
  return `${upToSeconds(seconds)}.${String(Math.floor(nanos / 1000) % 1_000_000).padStart(6, '0')}Z`;
}

function upToSeconds(seconds: number): string {
  if (!(seconds >= TIME_SECONDS_MIN && seconds <= TIME_SECONDS_MAX)) {
    throw new RangeError(`time out of range: ${seconds} seconds`);
  }
  return new Date(Math.floor(seconds) * 1000).toISOString().slice(0, 19);
}
