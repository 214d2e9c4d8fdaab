import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/** Every document of the repository, by its path. */
const pages = new Map(
  readdirSync('.', { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md') && !/(^|\/)(node_modules|dist[^/]*|\.[^/]+)\//.test(path))
    .map(path => [path, withoutCode(readFileSync(path, 'utf8'))]),
)

/** Lines of code are no links, and no headings. */
function withoutCode(text: string): string {
  return text.replaceAll(/^( *)(```|~~~)[\s\S]*?^\1\2 *$/gm, '')
}

interface Link {
  readonly page: string
  readonly path: string
  readonly anchor: string | undefined
}

function linksOf([page, text]: readonly [string, string]): readonly Link[] {
  const targets = [...text.replaceAll(/`[^`\n]*`/g, '').matchAll(/\]\(([^()\s]+)\)/g)].map(
    ([, target]) => target!,
  )
  return targets
    .filter(target => !/^[a-z]+:/.test(target))
    .map(target => {
      const [path = '', anchor] = target.split('#')
      return { page, path: path === '' ? page : normalize(join(dirname(page), path)), anchor }
    })
}

/** The anchors of a page, as a forge makes them of its headings. */
function anchorsOf(page: string): readonly string[] {
  const headings = [...pages.get(page)!.matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading]) =>
    heading!
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  const met = new Map<string, number>()
  return headings.map(heading => {
    const count = met.get(heading) ?? 0
    met.set(heading, count + 1)
    return count === 0 ? heading : `${heading}-${count}`
  })
}

const links = [...pages].flatMap(linksOf)

test('every link of a document leads to a file', () => {
  expect(links.length).toBeGreaterThan(50)
  const dead = links.filter(({ path }) => !existsSync(path)).map(({ page, path }) => `${page}: ${path}`)
  expect(dead).toEqual([])
})

test('every link to a part of a document leads to one of its headings', () => {
  const parts = links.filter(({ path, anchor }) => anchor !== undefined && pages.has(path))
  expect(parts.length).toBeGreaterThan(0)
  const dead = parts
    .filter(({ path, anchor }) => !anchorsOf(path).includes(anchor!))
    .map(({ page, path, anchor }) => `${page}: ${path}#${anchor}`)
  expect(dead).toEqual([])
})

test('the index of docs names every page of it', () => {
  const named = new Set(links.filter(({ page }) => page === 'docs/README.md').map(({ path }) => path))
  const missing = [...pages.keys()].filter(
    path => dirname(path) === 'docs' && path !== 'docs/README.md' && !named.has(path),
  )
  expect(missing, 'add it to docs/README.md').toEqual([])
})

test('the README can be read in a few minutes and leads to the index', () => {
  const text = readFileSync('README.md', 'utf8')
  expect(text.split('\n').length, 'move it into docs').toBeLessThanOrEqual(120)
  expect(linksOf(['README.md', text]).map(({ path }) => path)).toContain('docs/README.md')
})

test('every picture of docs is shown on a page', () => {
  const folder = 'docs/screens'
  const shown = new Set(links.map(({ path }) => path))
  const unused = readdirSync(folder).filter(
    name => statSync(join(folder, name)).isFile() && !shown.has(join(folder, name)),
  )
  expect(unused).toEqual([])
})
