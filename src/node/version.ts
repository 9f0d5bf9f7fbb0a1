import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { arch, platform } from 'node:process';

/** The version in package.json, found from the sources as well as from what `prepack` emits. */
export function version(): string {
  const path = findPackageJSON('..', import.meta.url);
  return path === undefined ? 'unknown' : (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}

/** Go's names, since dashboards and audit policies match on them. */
const GO_ARCH: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/**
 * The text before the slash becomes the field manager of every write (docs/spec/wire.md "Writes").
 * @param program shows in an audit log whether a command that only reads has asked, or the controllers
 */
export function userAgent(program = 'endpointd'): string {
  return `${program}/${version()} (${platform}/${GO_ARCH[arch] ?? arch})`;
}
