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
