/**
 * The release workflow without GitHub: what actionlint says of it, and each of its scripts run as a runner runs it, before
 * a docker and a gh that write down what they are told. Needs bash and jq.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, before, beforeEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { actionlintBinary } from './binaries.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const WORKFLOW = join(ROOT, '.github/workflows/release.yml');
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const TOKEN = 'the-token-of-the-run';

interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly env: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

const BOTH = ['linux/amd64', 'linux/arm64'];

/** Of what was pushed: what buildx tells of it. */
interface Pushed {
  readonly platforms: readonly string[];
  /** Of each platform. */
  readonly sbomPackages: readonly object[];
}

/** They answer what the scripts ask for, and nothing else. */
function fakeDocker({ platforms, sbomPackages }: Pushed): string {
  const images = [...platforms, 'unknown/unknown'].map((platform) => {
    const [os, architecture] = platform.split('/');
    return { platform: { os, architecture } };
  });
  const metadata = JSON.stringify({ 'containerimage.digest': DIGEST });
  return [
    '#!/bin/sh',
    'echo "docker $*" >> calls.txt',
    'case "$*" in',
    `'login '*) test "$(cat)" = ${TOKEN} ;;`,
    "'buildx create '*) ;;",
    `'buildx build '*) echo '${metadata}' > metadata.json ;;`,
    `'buildx imagetools inspect '*'{{.Manifest.Digest}}'*) echo ${DIGEST} ;;`,
    `'buildx imagetools inspect '*'json .Manifest'*) echo '${JSON.stringify({ manifests: images })}' ;;`,
    `'buildx imagetools inspect '*.SBOM*) echo '${JSON.stringify(sbomPackages)}' ;;`,
    `'buildx imagetools inspect '*.Provenance*) echo '{"SLSA":{}}' ;;`,
    '*) echo "docker: unknown: $*" >&2; exit 1 ;;',
    'esac',
    '',
  ].join('\n');
}

describe('the release workflow', () => {
  let job: Job;
  let checkout: string;

  before(async () => {
    const { jobs } = load(await readFile(WORKFLOW, 'utf8')) as { jobs: Readonly<Record<string, Job>> };
    assert.deepEqual(Object.keys(jobs), ['image']);
    job = jobs['image']!;
  });

  beforeEach(async () => {
    checkout = await mkdtemp(join(tmpdir(), 'endpointd-release-'));
    await mkdir(join(checkout, '.github'));
    await mkdir(join(checkout, 'bin'));
    for (const path of ['package.json', 'Dockerfile', 'CHANGELOG.md', '.github/pin-images']) {
      await cp(join(ROOT, path), join(checkout, path));
    }
    await pushed({ platforms: BOTH, sbomPackages: [{ name: 'undici' }] });
    await program('gh', '#!/bin/sh\necho "gh $*" >> calls.txt\n');
  });

  afterEach(() => rm(checkout, { recursive: true, force: true }));

  const program = (name: string, text: string): Promise<void> =>
    writeFile(join(checkout, 'bin', name), text, { mode: 0o755 });
  const pushed = (what: Pushed): Promise<void> => program('docker', fakeDocker(what));
  const written = (path: string): Promise<string> => readFile(join(checkout, path), 'utf8');

  /** All scripts, in their order, as a runner does where no shell is named. */
  async function release(tag = `v${PACKAGE.version}`): Promise<void> {
    for (const { run: script, env } of job.steps) {
      if (script === undefined) continue;
      const variables = { ...job.env, ...env };
      const given = Object.entries(variables).map(([name, value]) => [name, evaluated(value, tag)]);
      const path = join(checkout, 'bin', 'step.sh');
      await writeFile(path, script);
      await run('bash', ['-e', path], {
        cwd: checkout,
        env: {
          PATH: `${join(checkout, 'bin')}:${process.env['PATH']}`,
          GITHUB_ACTOR: 'someone',
          GITHUB_REPOSITORY: 'Example/Endpointd',
          GITHUB_SERVER_URL: 'https://github.com',
          GITHUB_SHA: COMMIT,
          ...Object.fromEntries(given),
        },
      });
    }
  }

  it('the workflow is clean for actionlint', async () => {
    await run(await actionlintBinary(), ['-shellcheck=', '-pyflakes=', WORKFLOW]);
  });

  it('the workflow builds from pinned images with its commit, and releases the digest', async () => {
    await release();
    const image = `ghcr.io/example/endpointd:${PACKAGE.version}`;
    assert.equal(await written('image.txt'), `${image}@${DIGEST}\n`);
    const froms = (await written('Dockerfile')).match(/^FROM .+$/gm)!;
    for (const from of froms) assert.ok(from.includes(`@${DIGEST}`), from);
    assert.equal((await written('base-images.txt')).trim().split('\n').length, froms.length);
    const calls = (await written('calls.txt')).split('\n');
    const build = calls.find((call) => call.startsWith('docker buildx build '))!.split(' ');
    for (const argument of [`COMMIT=${COMMIT}`, `--platform`, BOTH.join(','), '--sbom=true', '--push', image]) {
      assert.ok(build.includes(argument), `${argument} in ${build.join(' ')}`);
    }
    const named = calls.find((call) => call.startsWith('gh release create '))!.split(' ');
    assert.deepEqual(named.slice(-3), ['image.txt', 'base-images.txt', 'Dockerfile']);
    assert.doesNotMatch(calls.join('\n'), new RegExp(TOKEN));
  });

  it('every build argument of the Dockerfile is given', async () => {
    await release();
    const names = (await written('Dockerfile')).match(/^ARG \w+/gm)!.map((line) => line.slice('ARG '.length));
    const build = (await written('calls.txt')).split('\n').find((call) => call.startsWith('docker buildx build '));
    for (const name of names) assert.ok(build!.includes(`--build-arg ${name}=`), name);
  });

  it('the workflow ends at a tag that is not the version of the package', async () => {
    await assert.rejects(release('v99.0.0'));
    await assert.rejects(written('calls.txt'), { code: 'ENOENT' });
  });

  for (const [title, what] of [
    ['without one platform', { platforms: ['linux/amd64'], sbomPackages: [{}] }],
    ['without an SBOM', { platforms: BOTH, sbomPackages: [] }],
  ] as const) {
    it(`the workflow makes no release of an image ${title}`, async () => {
      await pushed(what);
      await assert.rejects(release());
      assert.doesNotMatch(await written('calls.txt'), /gh release/);
    });
  }
});

const PACKAGE = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };

/** What stands in `${{ }}` of the workflow's variables. */
function evaluated(text: string, tag: string): string {
  const values: Readonly<Record<string, string>> = {
    'github.ref_name': tag,
    'github.repository': 'Example/Endpointd',
    'secrets.GITHUB_TOKEN': TOKEN,
  };
  return text.replaceAll(/\$\{\{ (.+?) \}\}/g, (_, expression: string) => {
    assert.ok(expression in values, expression);
    return values[expression]!;
  });
}
