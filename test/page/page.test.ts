import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { LIVE_SCRIPT } from '../../src/cli/live/live-script.ts';
import { renderPage, type Page } from '../../src/page/page.ts';
import { SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH } from '../../src/page/style.ts';

const HOSTILE = `</script><img src=x onerror="alert('1')">\u001B[2J\u202E`;
const SHOWN = String.raw`&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;\u001b[2J\u202e`;

const sha256 = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;

function hostilePage(): Page {
  const change = { field: HOSTILE, before: HOSTILE, after: HOSTILE, note: HOSTILE };
  return {
    title: HOSTILE,
    headline: { figure: HOSTILE, words: HOSTILE, tone: 'bad' },
    facts: [{ name: HOSTILE, value: HOSTILE }],
    notices: [HOSTILE],
    sections: [
      { title: HOSTILE, tone: 'bad', note: HOSTILE, entries: [{ title: HOSTILE, aside: HOSTILE, changes: [change] }] },
      { title: '', tone: 'plain', note: '', table: { columns: [HOSTILE], rows: [[HOSTILE]] } },
    ],
  };
}

describe('a page', () => {
  it('a page is allowed its own style and script only', () => {
    assert.equal(STYLE_HASH, sha256(STYLE));
    assert.equal(SCRIPT_HASH, sha256(SCRIPT));
    assert.equal(LIVE_SCRIPT.hash, sha256(LIVE_SCRIPT.text));
    assert.match(
      renderPage(hostilePage()),
      /default-src 'none'; style-src '\S+'; script-src '\S+'; img-src data:; base-uri 'none'/,
    );
  });

  it('only a live page may ask its own server, and no other', () => {
    assert.doesNotMatch(renderPage(hostilePage()), /connect-src|fetch\(/);
    assert.match(
      renderPage({ ...hostilePage(), live: LIVE_SCRIPT }),
      /; connect-src 'self'; img-src data:; base-uri 'none'/,
    );
  });

  it('a page shows texts of others as texts, in each place that takes one', () => {
    const html = renderPage(hostilePage());
    assert.equal(html.split('<img').length, 1);
    assert.equal(html.split('</script>').length, 2);
    assert.equal(html.split(SHOWN).length - 1, 18);
    for (const character of ['\u001B', '\u202E']) assert.ok(!html.includes(character));
  });

  it('on a narrow screen a cell has the name of its column, if that has one', () => {
    assert.ok(STYLE.includes('td:not([data-name=""])::before{content:attr(data-name) ": "'));
  });

  it('a plot does not shrink below a width at which its texts can be read', () => {
    const [, rem] = /svg\.plot\{[^}]*min-width:(\d+)rem/.exec(STYLE)!;
    // Of 704 units, with texts of 12.
    assert.ok((Number(rem) * 16 * 12) / 704 > 10);
  });

  it('a page leaves out a side of a change without a value', () => {
    const change = { field: 'metadata.labels[a]', before: null, after: 'b', note: '' };
    const entries = [{ title: 'Endpoints default/web', aside: '', changes: [change] }];
    const html = renderPage({ ...hostilePage(), sections: [{ title: 't', tone: 'plain', note: '', entries }] });
    assert.match(html, /<div class="field">metadata\.labels\[a\]<\/div><ins>b<\/ins><\/details>/);
  });

  it('an empty value of a change is seen', () => {
    const change = { field: 'a', before: '', after: '', note: '' };
    const entries = [{ title: 't', aside: '', changes: [change] }];
    const html = renderPage({ ...hostilePage(), sections: [{ title: 't', tone: 'plain', note: '', entries }] });
    assert.ok(html.includes('<del>&quot;&quot;</del><ins>&quot;&quot;</ins>'));
  });
});
