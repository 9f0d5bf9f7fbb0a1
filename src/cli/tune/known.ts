/** What `tune` knows beside the recording: today's flags from `/configz`, and scrapes of metrics. */
import { readFile } from 'node:fs/promises';
import { printable } from '../../lib/printable.ts';
import { REFUSAL_CODES } from '../../metrics/refusals.ts';
import { parseMetrics } from '../../metrics/text.ts';
import { MonitorError } from '../../node/monitor-client.ts';
import { type Configz, ConfigzError, parseConfigz } from '../../tune/configz.ts';
import { SETTING_FLAGS, type SettingName, settingNames, settingText } from '../../tune/flag-lines.ts';
import {
  type Measured,
  measuredOf,
  type Recorded,
  type Scrapes,
  ScrapesError,
  type Source,
} from '../../tune/measured.ts';
import type { KnownNumber } from '../../tune/numbers.ts';
import { NEWEST_KUBE_MINOR, OLDEST_KUBE_MINOR } from '../../twin/run.ts';
import type { Settings } from '../../twin/settings.ts';
import { enabledControllers } from '../flags/controllers.ts';
import { monitorOf } from '../live/monitor.ts';
import { starting, StartError } from '../usage.ts';
import { isUrl, type TuneOptions } from './tune-flags.ts';

export interface Known {
  readonly today: Settings;
  /** The minor version of kube-controller-manager that is played. */
  readonly kubeMinor: number;
  readonly nodes: number;
  readonly endpointsWatchers: number;
  readonly measured: Measured;
  readonly given: readonly KnownNumber[];
}

/**
 * @param recorded null = there is no recording
 * @param recordedNodes how many nodes the recording has; 0 = it does not tell
 * @throws StartError with one line that names the file
 */
export async function knownOf(options: TuneOptions, recorded: Recorded | null, recordedNodes: number): Promise<Known> {
  const measured = await measuredBy(options, recorded);
  const { settings: config, controllers } = await configzOf(options);
  const { given, configz, controller } = options;
  const rows: KnownNumber[] = [];
  const names = settingNames(controller);
  const isTold = (name: SettingName): boolean => config[name] !== undefined && !given.has(SETTING_FLAGS[name].name);
  const told = Object.fromEntries(names.filter(isTold).map((name) => [name, config[name]]));
  const running = controller === 'endpointd' ? runningOf(controllers, options.configz) : null;
  const today: Settings = { ...options.today, ...told, ...(running === null ? {} : { controllers: running }) };
  for (const name of names) {
    const flag = SETTING_FLAGS[name].name;
    const from = given.has(flag) ? 'given' : isTold(name) ? configz : "not given: the program's default";
    rows.push({ name: `--${flag}`, value: settingText(name, today[name]), unsure: '', from });
  }
  const version = versionOf(options, measured.kubeMinor);
  if (controller !== 'endpointd') rows.push(version.row);
  else {
    const from = running === null ? 'not given: assumed' : configz;
    rows.push({ name: 'controllers that run', value: String(today.controllers), unsure: '', from });
  }
  const { watchers } = measured;
  const hasCores = given.has('cores') || options.calibration !== '';
  const count = (flag: string, name: string, own: number, seen: Source<number> | null): number => {
    const { value, from } = given.has(flag)
      ? { value: own, from: 'given' }
      : (seen ?? { value: own, from: 'not given: assumed' });
    rows.push({ name, value: String(value), unsure: '', from });
    return value;
  };
  const seen = (output: 'slices' | 'endpoints'): Source<number> | null =>
    watchers === null ? null : { value: watchers.value[output], from: watchers.from };
  const ofRecording = recordedNodes > 0 ? { value: recordedNodes, from: 'nodes of the recording' } : null;
  return {
    today,
    kubeMinor: version.minor,
    nodes: count('nodes', 'watchers of slices', options.nodes, seen('slices') ?? ofRecording),
    endpointsWatchers: count(
      'endpoints-watchers',
      'watchers of Endpoints',
      options.endpointsWatchers,
      seen('endpoints'),
    ),
    measured: {
      ...measured,
      cores: hasCores ? null : measured.cores,
      notes: [
        ...measured.notes,
        ...(hasCores ? [] : measured.coresNotes),
        ...version.notes,
        ...unseen(measured, recorded),
      ],
    },
    given: rows,
  };
}

/** Which reasons to recommend nothing were not looked for: no recording tells them. */
function unseen({ lookedFor }: Measured, recorded: Recorded | null): string[] {
  if (recorded === null) return [];
  return [
    ...(lookedFor.includes('refusals')
      ? []
      : [
          `refused writes (${REFUSAL_CODES}) were not looked for: --controller-metrics or --apiserver-metrics tells them`,
        ]),
    ...(lookedFor.includes('leader')
      ? []
      : [
          'another leader of the same program shows only by a pause of ten seconds: --controller-metrics tells it, where leaders are elected',
        ]),
  ];
}

interface Version {
  readonly minor: number;
  readonly row: KnownNumber;
  readonly notes: readonly string[];
}

function versionOf({ given, kcmVersion }: TuneOptions, measured: Measured['kubeMinor']): Version {
  const isGiven = given.has('kcm-version');
  const nearest = Math.min(NEWEST_KUBE_MINOR, Math.max(OLDEST_KUBE_MINOR, measured?.value ?? kcmVersion));
  const minor = isGiven ? kcmVersion : nearest;
  const from = isGiven ? 'given' : (measured?.from ?? 'not given: assumed');
  const why = isGiven ? 'as --kcm-version says' : 'the nearest that is known';
  return {
    minor,
    row: { name: 'version of kube-controller-manager', value: `1.${minor}`, unsure: '', from },
    notes:
      measured === null || measured.value === minor
        ? []
        : [`kube-controller-manager is 1.${measured.value} by ${measured.from}, and is played as 1.${minor}, ${why}`],
  };
}

/** How many controllers of endpointd run; null = it is not told. */
function runningOf(controllers: Configz['controllers'], configz: string): number | null {
  if (controllers === null) return null;
  const enabled = enabledControllers(controllers);
  if (!enabled.ok) throw new StartError(`--configz=${configz}: Generic.Controllers: ${printable(enabled.message)}`);
  return Object.values(enabled.options).filter((runs) => runs).length;
}

async function configzOf(options: TuneOptions): Promise<Configz> {
  const { configz, controller } = options;
  if (configz === '') return { program: null, settings: {}, controllers: null };
  const text = isUrl(configz)
    ? await answerAt(configz, options)
    : await starting(`read --configz=${configz}`, readFile(configz, 'utf8'));
  const told = parsed(text, configz);
  if (told.program !== null && told.program !== controller)
    throw new StartError(
      `--configz=${configz}: this is the configuration of ${told.program}, and --controller is ${controller}`,
    );
  return told;
}

function parsed(text: string, configz: string): Configz {
  try {
    return parseConfigz(text);
  } catch (error) {
    if (error instanceof ConfigzError) throw new StartError(`--configz=${configz}: ${printable(error.message)}`);
    throw error;
  }
}

async function answerAt(url: string, options: TuneOptions): Promise<string> {
  if (!URL.canParse(url)) throw new StartError(`--configz=${url}: it is neither a file nor a URL`);
  const monitor = await monitorOf(url.replace(/\/configz\/?$/, ''), options);
  try {
    return await monitor.get('/configz');
  } catch (error) {
    if (error instanceof MonitorError) throw new StartError(`--configz: ${printable(error.message)}`, { cause: error });
    throw error;
  } finally {
    await monitor.close();
  }
}

async function measuredBy(
  { controllerMetrics, apiserverMetrics, controller: program }: TuneOptions,
  recorded: Recorded | null,
): Promise<Measured> {
  const [controller, apiserver] = [await scrapesOf(controllerMetrics), await scrapesOf(apiserverMetrics)];
  try {
    return measuredOf(controller, apiserver, program, recorded);
  } catch (error) {
    if (error instanceof ScrapesError) throw new StartError(printable(error.message));
    throw error;
  }
}

async function scrapesOf(files: readonly [string, string] | null): Promise<Scrapes | null> {
  if (files === null) return null;
  const [before, after] = await Promise.all(files.map((path) => starting(`read ${path}`, readFile(path, 'utf8'))));
  return { before: parseMetrics(before!), after: parseMetrics(after!), from: files.join(', ') };
}
