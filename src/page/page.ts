/**
 * A report as one self-contained HTML page: plain data in, text out. The page loads nothing, and its policy forbids it
 * to. Texts of others stay texts. The page fits phones, paper and dark screens.
 */
import { escape } from './escape.ts';
import { plotSvg, type Plot } from './plot.ts';
import { SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH } from './style.ts';

export type Tone = 'good' | 'bad' | 'unsure' | 'plain';

export interface Page {
  readonly title: string;
  readonly headline: { readonly figure: string; readonly words: string; readonly tone: Tone };
  /** The question, the server, the time, and figures of the result. */
  readonly facts: readonly Fact[];
  /** Warnings that a reader needs before reading the rest. */
  readonly notices: readonly string[];
  readonly sections: readonly Section[];
  /** The script of a page that is served and asks its own server for news. */
  readonly live?: LiveScript;
}

/**
 * A script behind the page's own script. After it has replaced parts of the page it calls `index();search()`, so that
 * the search sees them.
 */
export interface LiveScript {
  readonly text: string;
  /** The hash of the text, in the form of the page's policy. */
  readonly hash: string;
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

export interface Section {
  readonly title: string;
  readonly tone: Tone;
  /** A text under the title; '' = none. */
  readonly note: string;
  /** Each entry is searched on its own, and is closed until somebody opens it. */
  readonly entries?: readonly Entry[];
  readonly plots?: readonly Plot[];
  readonly table?: Table;
}

export interface Entry {
  readonly title: string;
  /** A text beside the title; '' = none. */
  readonly aside: string;
  readonly changes: readonly Change[];
}

/** null = the side has no value. An empty value is shown as `""`. */
export interface Change {
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
  /** A text below; '' = none. */
  readonly note: string;
}

/** Each row has one cell for each column, and is searched on its own. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function policy(script: LiveScript | undefined): string {
  const live = script === undefined ? '' : ` '${script.hash}'; connect-src 'self'`;
  return `default-src 'none'; style-src '${STYLE_HASH}'; script-src '${SCRIPT_HASH}'${live}; img-src data:; base-uri 'none'; form-action 'none'`;
}

export function renderPage(page: Page): string {
  const { title, headline, facts, notices, sections, live } = page;
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy(live)}">`,
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    '<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">',
    `<title>${escape(title)}</title><style>${STYLE}</style></head><body>`,
    `<header><h1>${escape(title)}</h1><p class="figure ${headline.tone}">${escape(headline.figure)}</p>`,
    `<p>${escape(headline.words)}</p>`,
    `<dl>${facts.map(({ name, value }) => `<div><dt>${escape(name)}</dt><dd>${escape(value)}</dd></div>`).join('')}</dl>`,
    ...notices.map((notice) => `<p class="notice">${escape(notice)}</p>`),
    '</header><div class="search"><input id="search" type="search" placeholder="Search" aria-label="Search">',
    '<output id="shown" class="count" for="search"></output></div><main>',
    ...sections.map(sectionOf),
    `</main><script>${SCRIPT}</script>${live === undefined ? '' : `<script>${live.text}</script>`}</body></html>\n`,
  ].join('\n');
}

function sectionOf({ title, tone, note, entries = [], plots = [], table }: Section): string {
  return [
    `<section><h2 class="${tone}">${escape(title)}</h2>`,
    note === '' ? '' : `<p class="note">${escape(note)}</p>`,
    ...entries.map(entryOf),
    ...plots.map(plotOf),
    table === undefined ? '' : tableOf(table),
    '</section>',
  ].join('\n');
}

function plotOf(plot: Plot): string {
  return `<figure class="find"><figcaption>${escape(plot.title)}</figcaption>${plotSvg(plot)}</figure>`;
}

function entryOf({ title, aside, changes }: Entry): string {
  const beside = aside === '' ? '' : ` <span class="aside">${escape(aside)}</span>`;
  return `<details class="find"><summary>${escape(title)}${beside}</summary>${changes.map(changeOf).join('')}</details>`;
}

function changeOf({ field, before, after, note }: Change): string {
  const minus = before === null ? '' : `<del>${escape(before || '""')}</del>`;
  const plus = after === null ? '' : `<ins>${escape(after || '""')}</ins>`;
  return `<div class="field">${escape(field)}</div>${minus}${plus}${note === '' ? '' : `<div class="note">${escape(note)}</div>`}`;
}

function tableOf({ columns, rows }: Table): string {
  const head = columns.map((column) => `<th>${escape(column)}</th>`).join('');
  const body = rows.map((row) => {
    const cells = row.map((cell, i) => `<td data-name="${escape(columns[i] ?? '')}">${escape(cell)}</td>`);
    return `<tr class="find">${cells.join('')}</tr>`;
  });
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`;
}
