/** A Dockerfile as steps, as far as ours needs it: no shell forms of COPY, no variables, no heredocs. */

export interface Step {
  /** FROM, COPY, RUN ... */
  readonly word: string;
  readonly rest: string;
}

export interface Stage {
  /** '' = it has none. */
  readonly name: string;
  readonly image: string;
  /** Those behind FROM. */
  readonly steps: readonly Step[];
}

export function stagesOf(text: string): Stage[] {
  const lines = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line !== '');
  const stages: { name: string; image: string; steps: Step[] }[] = [];
  for (const line of lines) {
    const [, word, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (word === undefined || rest === undefined) throw new Error(`no step: ${line}`);
    if (word === 'FROM') {
      const [, image, name = ''] = /^(?:--platform=\S+ )?(\S+)(?: AS (\S+))?$/.exec(rest)!;
      stages.push({ name, image: image!, steps: [] });
    } else stages.at(-1)!.steps.push({ word, rest });
  }
  return stages;
}
