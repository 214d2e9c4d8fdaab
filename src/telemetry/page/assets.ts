/* Runs in a browser. Without it the page reads itself again as a whole. */

/** Brings the parts of the page up to date in place: what has the focus stays, and only what changed is touched. */
export const script = `
const every = 5000
async function refresh() {
  if (!document.hidden) {
    try {
      const response = await fetch(location.href)
      if (!response.ok) throw new Error(response.statusText)
      show(new DOMParser().parseFromString(await response.text(), 'text/html'))
      document.body.classList.remove('silent')
    } catch {
      document.body.classList.add('silent')
    }
  }
  setTimeout(refresh, every)
}
function show(next) {
  document.title = next.title
  for (const part of next.querySelectorAll('[data-part]')) {
    const shown = document.querySelector('[data-part="' + part.dataset.part + '"]')
    if (!shown || shown.outerHTML === part.outerHTML) continue
    if (shown.contains(document.activeElement) && document.activeElement !== shown) continue
    shown.className = part.className
    shown.replaceChildren(...part.childNodes)
  }
}
document.querySelector('form')?.addEventListener('change', event => event.currentTarget.submit())
setTimeout(refresh, every)
`

/** Colours have the contrast of WCAG AA in both schemes; the states differ in word and sign as well. */
export const style = `
:root{color-scheme:light dark;--ink:#1b2733;--soft:#4d5b68;--line:#d0d7de;--paper:#f6f8fa;--card:#fff;--link:#0a58a8;
--well:#116329;--starting:#0550ae;--behind:#ffd33d;--losing:#b93c00;--stopped:#9a0b22;
--complete:#2da44e;--reading:#54aeff;--waiting:#bf8700;--lost:#cf222e;--absent:#d8dee4}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#a3b1bf;--line:#30363d;--paper:#0d1117;--card:#161b22;--link:#79c0ff;
--complete:#2ea043;--reading:#388bfd;--waiting:#d29922;--lost:#f85149;--absent:#30363d}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
header,main,footer{max-width:76rem;margin:0 auto;padding:0 1rem}
header{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;align-items:baseline;padding-top:.75rem;padding-bottom:.75rem}
h1{margin:0;font-size:1.25rem}
h2{margin:2rem 0 .75rem;font-size:1.25rem}
h3{margin:0;font-size:1rem}
p{margin:.25rem 0}
a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem}
a:focus-visible,select:focus-visible,button:focus-visible,input:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--card);padding:.5rem}
.verdict{border-radius:.75rem;padding:1.25rem 1.5rem;color:#fff}
.verdict .word{display:block;font-size:clamp(2.25rem,9vw,4.5rem);line-height:1.05;font-weight:800;letter-spacing:-.02em}
.verdict .why{font-size:clamp(1.05rem,2.6vw,1.4rem);line-height:1.4;margin-top:.5rem;max-width:60rem}
.verdict .since{margin-top:.75rem}
.verdict.well{background:var(--well)}.verdict.starting{background:var(--starting)}
.verdict.behind{background:var(--behind);color:#1b1400}.verdict.losing{background:var(--losing)}.verdict.stopped{background:var(--stopped)}
.old,.lone{display:none;border:3px solid var(--stopped);border-radius:.75rem;padding:.75rem 1rem;margin-top:1rem;background:var(--card);font-weight:600}
.old.shown,.silent .lone{display:block}
form{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin-top:1.25rem}
label{display:grid;gap:.15rem;color:var(--soft);font-size:.9rem}
select,input,button{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--soft);border-radius:.4rem;padding:.35rem .6rem;min-height:2.5rem}
ul.plain{list-style:none;margin:0;padding:0}
.streams{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(30rem,100%),1fr));gap:.6rem}
.streams>li{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.7rem .9rem}
.streams>li.late{border-left:.5rem solid var(--waiting)}
.facts{display:flex;flex-wrap:wrap;gap:0 1.25rem;color:var(--soft);font-size:.95rem}
.facts b{color:var(--ink);font-weight:600}
.ribbon{display:block;width:100%;height:1.1rem;margin:.4rem 0 .1rem;border-radius:.25rem;background:var(--absent)}
.axis{display:flex;justify-content:space-between;color:var(--soft);font-size:.8rem}
.complete{fill:var(--complete)}.reading{fill:var(--reading)}.waiting{fill:var(--waiting)}.lost{fill:var(--lost)}.absent{fill:var(--absent)}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.25rem 0 .75rem;font-size:.9rem}
.legend svg{width:1.4rem;height:.8rem;margin-right:.4rem;vertical-align:baseline}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));gap:.6rem}
.cards>li{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.7rem .9rem}
.big{font-size:1.5rem;font-weight:700;font-variant-numeric:tabular-nums}
.bar{display:block;width:100%;height:.8rem;margin:.35rem 0;border-radius:.25rem;background:var(--absent)}
.bar .used{fill:var(--reading)}.bar .used.full{fill:var(--lost)}
.wide{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:.6rem}
table{border-collapse:collapse;width:100%;min-width:34rem;font-variant-numeric:tabular-nums}
th,td{padding:.4rem .8rem;text-align:left;vertical-align:top}
thead th{color:var(--soft);font-weight:600;font-size:.9rem}
tbody tr{border-top:1px solid var(--line)}
.n{text-align:right;white-space:nowrap}
.soft,footer{color:var(--soft)}
footer{padding-top:1.5rem;padding-bottom:2rem;font-size:.9rem}
`
