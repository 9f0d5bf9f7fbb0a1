/** All that can happen in a story. */
import { CHANGES } from './changes.ts';
import { NETWORK } from './network-faults.ts';
import { OTHERS } from './other-writers.ts';
import { PROCESS } from './process-faults.ts';
import type { Deed } from './run.ts';

const ALL = { ...CHANGES, ...OTHERS, ...PROCESS, ...NETWORK };

export type HappeningKind = keyof typeof ALL;

export const HAPPENINGS: Readonly<Record<HappeningKind, Deed>> = ALL;
