import type { LiveScript } from '../../page/page.ts';

const SCRIPT = `
const scrolls=()=>[...document.querySelectorAll('.scroll')];
const refresh=async()=>{
if(!document.hidden)try{
const answer=await fetch(location.href,{cache:'no-store',signal:AbortSignal.timeout(5000)});
if(!answer.ok)throw new Error('status '+answer.status);
const next=new DOMParser().parseFromString(await answer.text(),'text/html');
const lefts=scrolls().map((element)=>element.scrollLeft),selection=getSelection();
for(const part of ['header','main']){
const old=document.querySelector(part);
if(selection.isCollapsed||!selection.containsNode(old,true))old.replaceWith(document.adoptNode(next.querySelector(part)));
}
scrolls().forEach((element,i)=>{element.scrollLeft=lefts[i]??0});
index();search();
}catch(error){
const stale=document.querySelector('#stale')??document.querySelector('header').appendChild(document.createElement('p'));
stale.id='stale';stale.className='notice';stale.textContent='This is old: no answer ('+error.message+')';
}
setTimeout(refresh,1000);
};
setTimeout(refresh,1000);
`;

/**
 * Reads the page again each second, if somebody looks at it, and shows it in place of the old one. A part in which text is
 * selected stays as it is, so that it can be copied. Tables stay scrolled as they are.
 */
export const LIVE_SCRIPT: LiveScript = { text: SCRIPT, hash: 'sha256-atprbEE5SMsRfCSwU4++jGmjRfG/btLyoK8rlzEiTEk=' };
