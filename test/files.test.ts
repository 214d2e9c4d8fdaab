import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { files, texts } from './support/source-files.ts'

/** What must be beside a file, what documents call files, and how long these are. */

describe('streams', () => {
  const besides = ['src/streams/index.ts', 'src/streams/stream.ts', 'src/streams/page.ts']
  const streamFiles = files.filter(file => /^src\/streams\/[^/]+$/.test(file) && !besides.includes(file))

  it('every file of a stream is in the register', () => {
    const imports = texts.get('src/streams/index.ts')!.matchAll(/ from '\.\/([^']+)'/g)
    const registered = new Set(imports.map(([, name]) => `src/streams/${name}`))
    const missing = streamFiles.filter(file => !registered.has(file))
    expect(missing, 'add it to src/streams/index.ts').toEqual([])
    expect(streamFiles.length).toBeGreaterThan(0)
  })

  it('every stream has fixtures', () => {
    const have = new Set(
      readdirSync('test/fixtures', { recursive: true, encoding: 'utf8' }).map(path => path.split('/')[1]),
    )
    const bare = streamFiles
      .map(file => file.slice('src/streams/'.length, -'.ts'.length))
      .filter(stream => !have.has(stream))
    expect(bare, 'add test/fixtures/<family>/<stream>/<case>/page.json and rows.json').toEqual([])
  })
})

describe.each([
  ['ARCHITECTURE.md', 30],
  ['docs/rules.md', 10],
])('%s', (document, least) => {
  it('names files that there are', () => {
    const named = /`([\w-]+(?:\/[\w.-]+)+\.(?:ts|sql|md|sh|mjs))`/g
    const paths = [...readFileSync(document, 'utf8').matchAll(named)].map(([, path]) => path!)
    expect(paths.length).toBeGreaterThan(least)
    expect(paths.filter(path => !existsSync(path) && !existsSync(`src/${path}`))).toEqual([])
  })
})

describe('files', () => {
  const lengths = [...texts]
    .map(([file, text]) => ({ file, lines: text.split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines)

  it('have a median of at most 130 lines', () => {
    expect(lengths[Math.floor(lengths.length / 2)]!.lines).toBeLessThanOrEqual(130)
  })

  it('have at most 300 lines in nine cases of ten', () => {
    const long = lengths.slice(Math.floor(lengths.length * 0.9)).filter(({ lines }) => lines > 300)
    const share = long.length / lengths.length
    expect(share, `split by idea: ${long.map(({ file }) => file).join(', ')}`).toBeLessThanOrEqual(0.1)
  })

  it('have never more than 500 lines', () => {
    expect(
      lengths.filter(({ lines }) => lines > 500),
      'split it by idea',
    ).toEqual([])
  })
})
