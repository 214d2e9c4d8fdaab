import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What the runbook says of one alert. */
export interface Paragraph {
  readonly title: string
  readonly text: string
}

export interface Block {
  readonly language: string
  readonly code: string
}

const text = readFileSync(fileURLToPath(new URL('../../docs/runbook.md', import.meta.url)), 'utf8')

/** The paragraphs of third level, in their order. */
export function paragraphs(): readonly Paragraph[] {
  const [, ...parts] = text.split(/^### /m)
  return parts.map(part => {
    const [title, ...lines] = part.split(/^## /m)[0]!.split('\n')
    return { title: title!, text: lines.join('\n') }
  })
}

/** Everything that stands between fences, of the whole page. */
export function blocks(language: string): readonly string[] {
  return blocksOf(text)
    .filter(block => block.language === language)
    .map(({ code }) => code)
}

export function blocksOf(markdown: string): readonly Block[] {
  const found = markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)
  return [...found].map(([, language, code]) => ({ language: language!, code: code!.trim() }))
}

/** Queries of Prometheus that stand amid a sentence. */
export function inlineQueries(): readonly string[] {
  return [
    ...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]*penstock_\w+[^`\n]*[({][^`\n]*)`/g),
  ].map(([, query]) => query!)
}

/** Where links of the page lead. */
export function links(): readonly string[] {
  return [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target!)
}

/** Commands of Penstock, in fences and amid sentences, without what comes before them. */
export function commands(): readonly string[] {
  const fenced = blocks('sh').flatMap(code => code.split('\n'))
  const inline = [...text.matchAll(/`(penstock [a-z][^`]*)`/g)].map(([, command]) => command!)
  return [...fenced, ...inline]
}
