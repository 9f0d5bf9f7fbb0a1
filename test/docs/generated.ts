/** The documents that are made from data, whole or in part. `npm run docs` writes them, and a test compares them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartRoles } from './chart-roles.ts';
import { differencesPage } from './differences-page.ts';
import {
  EXPLAIN_PARTS,
  RECORD_PARTS,
  RETIRING_PARTS,
  RUN_PARTS,
  SERVE_PARTS,
  TOP_PARTS,
  TUNE_PARTS,
  ADVISE_PARTS,
  VERIFY_PARTS,
} from './flag-tables.ts';
import { metricsPage } from './metrics-page.ts';
import { withParts, type Part } from './parts.ts';
import { SIZE_PARTS } from './size-table.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface GeneratedDocument {
  /** From the root of the repository. */
  readonly path: string;
  readonly read: () => string;
  /** The text that it has to have. */
  readonly make: () => string;
}

export const GENERATED: readonly GeneratedDocument[] = [
  whole('docs/differences.md', differencesPage),
  whole('docs/metrics.md', metricsPage),
  whole('deploy/helm/endpointd/templates/rbac.yaml', chartRoles),
  inPart('docs/manual.md', RUN_PARTS),
  inPart('docs/runbook.md', SIZE_PARTS),
  inPart('docs/explain.md', EXPLAIN_PARTS),
  inPart('docs/live-view.md', TOP_PARTS),
  inPart('docs/recording.md', RECORD_PARTS),
  inPart('docs/tune-command.md', TUNE_PARTS),
  inPart('docs/embedded-api-server.md', SERVE_PARTS),
  inPart('docs/tuning.md', ADVISE_PARTS),
  inPart('docs/verify.md', VERIFY_PARTS),
  inPart('docs/retiring-endpoints.md', RETIRING_PARTS),
];

function whole(path: string, make: () => string): GeneratedDocument {
  return { path, read: () => readFileSync(join(ROOT, path), 'utf8'), make };
}

function inPart(path: string, parts: readonly Part[]): GeneratedDocument {
  const read = (): string => readFileSync(join(ROOT, path), 'utf8');
  return { path, read, make: () => withParts(path, read(), parts) };
}
