import type { NamedDifference, Report } from '../../src/verify/report.ts';

/** A line for each difference: `kind name field: stored -> planned (listed)`; ends of drawn names are `*`. */
export function differenceLines({ different }: Report, service?: string): string[] {
  return different
    .filter((unit) => service === undefined || unit.service === service)
    .flatMap(({ differences }) => differences.map(lineOf));
}

function lineOf({ kind, name, field, stored, planned, listed }: NamedDifference): string {
  const object = name === '' ? 'new' : name.replace(/-[a-z0-9]{5}$/, '-*');
  const sides = `${stored ?? '(none)'} -> ${planned ?? '(none)'}`;
  return `${kind} ${object}${field === '' ? '' : ` ${field}`}: ${sides}${listed === null ? '' : ` (${listed})`}`;
}
