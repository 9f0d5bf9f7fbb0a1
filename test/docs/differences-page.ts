/** `docs/differences.md`, made from the lists in `src/core/differences.ts`. */
import {
  ENDPOINTS_DIFFERENCES,
  KEPT_DEFECTS,
  MENDED_DEFECTS,
  MIRRORING_DIFFERENCES,
  SLICES_DIFFERENCES,
  type UpstreamDifference,
} from '../../src/core/differences.ts';

const HEAD = `# Differences from kube-controller-manager

Made from \`src/core/differences.ts\` by \`npm run docs\`; please change that file. Compared is kube-controller-manager 1.36. Numbers such as #109152 are issues and pull requests of kubernetes/kubernetes, D1 to D41 upstream's [known defects](spec/endpointslice.md#known-defects). What is not on these lists is equal: tests beside the real kube-controller-manager allow these differences and no others.
`;

export function differencesPage(): string {
  return [
    HEAD,
    section('Endpoints', ENDPOINTS_DIFFERENCES),
    section('EndpointSlices', SLICES_DIFFERENCES),
    section('Mirrored EndpointSlices', MIRRORING_DIFFERENCES),
    kept(),
    mended(),
  ].join('\n');
}

function section(title: string, differences: readonly UpstreamDifference[]): string {
  const rows = differences.map(({ id, title, upstream, ours, reports, defects, shownBy, alsoShownBy }) => {
    const shown = [shownBy, alsoShownBy].filter((test) => test !== undefined).map(testFile);
    return row([`\`${id}\``, title, upstream, ours, [...reports, ...defects].join(', '), shown.join('; ')]);
  });
  return table(title, ['id', 'when', 'upstream', 'endpointd', 'reports', 'shown by'], rows);
}

function kept(): string {
  const rows = KEPT_DEFECTS.map(({ id, title, why, flag }) => row([id, title, why, flag === '' ? '' : `\`${flag}\``]));
  return table('Kept as upstream has it', ['', 'what', 'why', 'switched off by'], rows);
}

function mended(): string {
  const rows = MENDED_DEFECTS.map(({ id, title, shownBy }) => row([id, title, testFile(shownBy)]));
  return table('Mended upstream, and the same here', ['', 'what', 'shown by'], rows);
}

function table(title: string, head: readonly string[], rows: readonly string[]): string {
  return [`## ${title}\n`, row(head), row(head.map(() => '---')), ...rows, ''].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** `<file>: <title of the test>` */
function testFile(shownBy: string): string {
  const [file = '', ...title] = shownBy.split(': ');
  return `\`test/${file}\`: ${title.join(': ')}`;
}
