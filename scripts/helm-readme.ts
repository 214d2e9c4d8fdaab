import { readFile } from 'node:fs/promises'
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml'

const chart = new URL('../helm/penstock/', import.meta.url)

/** A value of the chart: its key with dots, its default, and the comment above it. */
interface HelmValue {
  readonly key: string
  readonly preset: unknown
  readonly comment: string
}

/** The values of the chart, in the order of values.yaml. Throws for one that no comment explains. */
export async function helmValues(): Promise<readonly HelmValue[]> {
  const { contents } = parseDocument(await readFile(new URL('values.yaml', chart), 'utf8'))
  if (!isMap(contents)) throw new Error('values.yaml is no mapping')
  return valuesOf(contents, '')
}

function valuesOf(map: YAMLMap, path: string): readonly HelmValue[] {
  return map.items.flatMap(({ key, value }, i) => {
    if (!isScalar(key)) throw new Error(`values.yaml: a key below ${path} is no text`)
    const name = `${path}${key.value}`
    // What stands above the first key of a mapping belongs to the mapping.
    const comment = key.commentBefore ?? (i === 0 ? map.commentBefore : undefined)
    if (comment)
      return [{ key: name, preset: isMap(value) ? value.toJSON() : value, comment: oneLine(comment) }]
    if (isMap(value)) return valuesOf(value, `${name}.`)
    throw new Error(`values.yaml: no comment explains ${name}`)
  })
}

/** What stands apart above the first key is said of the whole file. */
function oneLine(comment: string): string {
  return comment
    .slice(comment.lastIndexOf('\n\n') + 1)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** README of the chart: its prose as it stands, with the table of the values made anew. */
export async function helmReadmeText(): Promise<string> {
  const text = await readFile(new URL('README.md', chart), 'utf8')
  const rows = (await helmValues()).map(
    ({ key, preset, comment }) =>
      `| \`${key}\` | ${presetOf(key, preset)} | ${comment.replaceAll('|', '\\|')} |`,
  )
  const table = ['| key | default | what it is |', '|---|---|---|', ...rows].join('\n')
  return text.replace(/(<!-- values: [^\n]*-->\n)[\s\S]*(<!-- end of values -->)/, (_, from, to) => {
    return `${from}\n${table}\n\n${to}`
  })
}

function presetOf(key: string, preset: unknown): string {
  return key === 'config' ? 'placeholders' : `\`${JSON.stringify(preset)}\``
}
