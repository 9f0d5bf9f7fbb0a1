import { PLOT_STYLE } from './plot-style.ts';

/**
 * The style and the script that make a page readable and searchable. The page's policy names both by their hashes, so a
 * change of one needs a change of its hash (`test/page/page.test.ts` prints it).
 */
export const STYLE = `
:root{color-scheme:light dark;--line:light-dark(#d0d7de,#3d444d);--dim:light-dark(#59636e,#9198a1);--good:light-dark(#1a7f37,#3fb950);--bad:light-dark(#cf222e,#ff7b72);--unsure:light-dark(#9a6700,#d29922);--minus:light-dark(#ffebe9,#4b1d1f);--plus:light-dark(#dafbe1,#12391f)}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;font:15px/1.5 system-ui,sans-serif;background:light-dark(#fff,#0d1117);color:light-dark(#1f2328,#e6edf3);overflow-wrap:anywhere}
h1{font-size:1rem;margin:0;color:var(--dim)}
h2{font-size:1.1rem;margin:0}
.figure{margin:.25rem 0;font-size:3rem;font-weight:700;line-height:1.1}
.good{color:var(--good)}.bad{color:var(--bad)}.unsure{color:var(--unsure)}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,12rem),1fr));gap:.25rem 1rem;margin:1rem 0}
dt,.note,.aside,.count{color:var(--dim)}
dt{font-size:.85rem}dd{margin:0}
.notice{border-left:4px solid var(--unsure);padding:.25rem .75rem;margin:.5rem 0}
input{font:inherit;width:100%;padding:.5rem .75rem;border:1px solid var(--line);border-radius:6px;background:inherit;color:inherit}
.search{position:sticky;top:0;padding:.5rem 0;background:light-dark(#fff,#0d1117)}
section{margin:1.25rem 0;border-top:1px solid var(--line);padding-top:.75rem}
details{border:1px solid var(--line);border-radius:6px;margin:.4rem 0;padding:.35rem .6rem;content-visibility:auto;contain-intrinsic-size:auto 2rem}
summary{cursor:pointer}
.field{margin:.5rem 0 .1rem;font-weight:600}
del,ins{display:block;text-decoration:none;font:13px/1.5 ui-monospace,monospace;white-space:pre-wrap;padding:0 .4rem}
del{background:var(--minus)}ins{background:var(--plus)}
del::before{content:"- "}ins::before{content:"+ "}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;overflow-wrap:break-word;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600}
figure{margin:.75rem 0;overflow-x:auto}
figcaption{font-weight:600}
svg.plot{display:block;width:100%;max-width:44rem;min-width:38rem;height:auto}
${PLOT_STYLE}
[hidden]{display:none!important}
@media(max-width:40rem){table,tbody,tr,td{display:block}thead{display:none}tr{border-bottom:1px solid var(--line);padding:.4rem 0}td{border:0;padding:0}td:empty{display:none}td:not([data-name=""])::before{content:attr(data-name) ": ";color:var(--dim)}}
`;
export const STYLE_HASH = 'sha256-oT2T7L/bjU4A82AJso0rzNN0Mds10hudSGemrWPSs0A=';

/** Hides entries that lack a word of the search, and sections without visible entries. */
export const SCRIPT = `
const box=document.querySelector('#search'),shown=document.querySelector('#shown');
let finds,sections;
const index=()=>{
finds=[...document.querySelectorAll('.find')].map((element)=>({element,text:element.textContent.toLowerCase()}));
sections=[...document.querySelectorAll('section')];
};
const search=()=>{
const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);
let count=0;
for(const {element,text} of finds){const is=words.every((word)=>text.includes(word));element.hidden=!is;if(is)count++}
for(const section of sections)section.hidden=words.length>0&&section.querySelector('.find:not([hidden])')===null;
shown.textContent=words.length===0?'':count+' of '+finds.length;
};
index();
box.addEventListener('input',search);
`;
export const SCRIPT_HASH = 'sha256-P82wXtx6vwH/Gm7O+Pt2CrosEfVxb+XggDUSwn5bIyE=';
