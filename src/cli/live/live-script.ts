import type { LiveScript } from '../../page/page.ts';

const SCRIPT = `
const refresh=async()=>{
if(!document.hidden)try{
const answer=await fetch(location.href,{cache:'no-store',signal:AbortSignal.timeout(5000)});
if(!answer.ok)throw new Error('status '+answer.status);
const next=new DOMParser().parseFromString(await answer.text(),'text/html');
for(const part of ['header','main'])document.querySelector(part).replaceWith(document.adoptNode(next.querySelector(part)));
index();search();
}catch(error){
const stale=document.querySelector('#stale')??document.querySelector('header').appendChild(document.createElement('p'));
stale.id='stale';stale.className='notice';stale.textContent='This is old: no answer ('+error.message+')';
}
setTimeout(refresh,1000);
};
setTimeout(refresh,1000);
`;

/** Reads the page again each second, if somebody looks at it, and shows it in place of the old one. */
export const LIVE_SCRIPT: LiveScript = { text: SCRIPT, hash: 'sha256-ScmR2yPSEFh3ypvhiYnOKhOC4TQ9igY0TRjk8zXfnhs=' };
