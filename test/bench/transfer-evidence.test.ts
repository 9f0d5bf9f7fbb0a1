/** What the documents say of the settings that were set for real is what the kept data say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { keptTransferPage } from '../../bench/transfer/page.ts';

function textOf(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

interface Series {
  /** As the evidence names it. */
  readonly name: string;
  readonly commits: string;
  /** Of each mark: what was found, and whether that reaches it. */
  readonly marks: readonly string[];
  readonly shares: readonly number[];
  /** How many bounds hold by the changes that came then. */
  readonly held: number;
  readonly figures: number;
}

/** In the order in which they were run. */
function series(): Series[] {
  return keptTransferPage()
    .split('\n## ')
    .slice(1)
    .map((section) => {
      const [, controller, seed] = /^(\S+) on .*, seed (\d+)\n/.exec(section)!;
      const [, day, commits] = / runs from (\S+)T.*; recorded and predicted by (.*?)\. The machine/.exec(section)!;
      const found = [...section.matchAll(/^\| \S.*\| (\d+) of (\d+) \w+, (\d+) % \| (.*) \|$/gm)];
      const all = /^\| all \| (\d+) \|.* (\d+) \|$/m.exec(section)!;
      return {
        name: `${controller}${seed === '1' ? '' : `, \`--seed=${seed}\``}, ${day}`,
        commits: commits!,
        marks: found.map(([, count, of, share, verdict], i) =>
          i === 0
            ? `${count} of ${of}, ${share} %: ${verdict}`
            : i === 1
              ? `${count}, ${share} %: ${verdict}`
              : `${count} of ${of}: ${verdict}`,
        ),
        shares: found.map(([, , , share]) => Number(share)),
        held: Number(all[2]),
        figures: Number(all[1]),
      };
    });
}

const EVIDENCE = textOf('docs/tune-evidence.md');
const SERIES = series();

test('the table of series in the evidence has what the data say', () => {
  const [table] = /\n\| series \|[^]*?\n\n/.exec(EVIDENCE)!;
  const told = table
    .trim()
    .split('\n')
    .slice(2)
    // A cell may say by how much a mark is missed.
    .map((line) => line.slice(2, -2).replaceAll(/(reached\*{0,2})(?: by|, by) [^|]*(?= \||$)/g, '$1'));
  assert.deepEqual(
    told,
    SERIES.map(({ name, commits, marks }) => [name, commits, ...marks].join(' | ')),
  );
});

test('the evidence has what bounds hold by the changes that came then', () => {
  const counts = (of: readonly Series[]): string => {
    const each = of.map(({ held, figures }) => `${held} of ${figures}`);
    return `${each.slice(0, -1).join(', ')} and ${each.at(-1)}`;
  };
  const shares = (of: readonly Series[]): string => {
    const each = of.map(({ held, figures }) => ((100 * held) / figures).toFixed(0));
    return `${each.slice(0, -1).join(', ')} and ${each.at(-1)} %`;
  };
  const [before, since] = [SERIES.slice(4, 7), SERIES.slice(7)];
  const said = `By the changes that came then they hold for ${counts(before)} figures of the fifth to seventh series, ${shares(before)}, and for ${counts(since)} of the three with the 2 %, ${shares(since)}.`;
  assert.ok(EVIDENCE.includes(said), said);
});

test('the shares in the marks and in the page of the command are those of the series', () => {
  const range = (mark: number, of: readonly Series[]): string => {
    const all = of.map(({ shares }) => shares[mark]!);
    return `${Math.min(...all)} to ${Math.max(...all)}`;
  };
  const [before, since] = [SERIES.slice(0, 7), SERIES.slice(7)];
  const each = since.map(({ shares }) => String(shares[1]));
  const marks = [
    `Within 30 %: ${range(0, SERIES)} %,`,
    `Under their bounds: ${range(1, before)} % in the first seven,`,
    `${each.slice(0, -1).join(', ')} and ${each.at(-1)} % in the three that followed`,
    `Answered: ${range(2, SERIES)} %,`,
  ];
  for (const said of marks) assert.ok(EVIDENCE.includes(said), said);
  const said = `${range(1, since)} of 100 figures lay under such bounds in three series`;
  assert.ok(textOf('docs/tune-command.md').includes(said), said);
});
