import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { isMap, isScalar, isSeq, parse, parseDocument } from 'yaml'
import { z } from 'zod'
import { configReference, defaultOf, descriptionOf, jsonSchemaText } from '../../scripts/config-reference.ts'
import { loadConfig, readConfig } from '../../src/config/load.ts'
import { configSchema } from '../../src/config/schema.ts'
import { keysOf } from '../../src/settings/walk.ts'

const path = new URL('../../config/penstock.example.yaml', import.meta.url).pathname
const example = await readFile(path, 'utf8')
/** The example with every commented key switched on, alternatives included. */
const complete = example.replace(/^( *)# ( *[A-Za-z-]+:( .*)?)$/gm, (line, indent, rest) =>
  rest.startsWith('yaml-language-server') ? line : `${indent}${rest}`,
)

/** Key paths and the texts that stand there; `[]` stands for a list item. */
function texts(text: string): ReadonlyMap<string, string | undefined> {
  const found = new Map<string, string | undefined>()
  const visit = (node: unknown, at: string): void => {
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        const under = at === '' ? String(key) : `${at}.${key}`
        found.set(under, isScalar(value) ? String(value.value) : undefined)
        visit(value, under)
      }
    }
    if (isSeq(node)) for (const item of node.items) visit(item, `${at}[]`)
  }
  visit(parseDocument(text, { schema: 'failsafe' }).contents, '')
  return found
}

const keys = keysOf(configSchema()).map(key => ({ ...key, name: key.path.join('.').replaceAll('.[]', '[]') }))

describe('the example configuration', () => {
  it('shows every key, and no other', () => {
    expect([...texts(complete).keys()].toSorted()).toEqual(keys.map(({ name }) => name).toSorted())
  })

  it('shows every key with its default', () => {
    const shown = texts(complete)
    const defaults = keys.filter(
      key => defaultOf(key.schema) !== undefined && shown.get(key.name) !== undefined,
    )
    expect(defaults.length).toBeGreaterThan(40)
    expect(defaults.map(({ name }) => [name, shown.get(name)])).toEqual(
      defaults.map(key => [key.name, defaultOf(key.schema)]),
    )
  })

  it('means the same as a file that leaves all defaults out', async () => {
    const short = `
provider:
  classroom: { url: https://classroom.example.com }
  analytics: { url: https://analytics.example.com }
  players: { url: https://players.example.com }
apps:
  - id: 0a1b2c
    region: ap
    plan: premium
    classroom: { uid: penstock, token: replace-me }
    rest: { key: replace-me, secret: replace-me }`
    const left = await readConfig(short, { name: 'short', env: {}, folder: '/' })
    expect(await loadConfig(path, { env: {} })).toEqual({ ...left, warnings: [] })
  })

  it('is read without a warning', async () => {
    expect((await loadConfig(path, { env: {} })).warnings).toEqual([])
  })

  it('tells an editor where its schema is', () => {
    expect(example.split('\n')[0]).toBe('# yaml-language-server: $schema=./penstock.schema.json')
  })
})

describe('the JSON schema', () => {
  it('is the one that is published', async () => {
    const published = new URL('../../config/penstock.schema.json', import.meta.url)
    expect(await readFile(published, 'utf8')).toBe(jsonSchemaText())
  })

  // Zod's reader of JSON schemas knows no `not`, so the rules between keys are looked at apart.
  const rules: unknown[] = []
  const shape: unknown = JSON.parse(jsonSchemaText(), (key, value) => {
    if (key !== 'allOf') return value
    rules.push(...value)
    return undefined
  })
  const schema = z.fromJSONSchema(shape as z.core.JSONSchema.JSONSchema)

  it('demands one way of giving each secret, and only one', () => {
    expect(rules).toContainEqual({ not: { required: ['url', 'urlFile'] } })
    expect(rules).toContainEqual({
      oneOf: [{ required: ['token'] }, { required: ['tokenFile'] }, { required: ['tokenCommand'] }],
    })
    expect(rules).toContainEqual({ anyOf: [{ required: ['classroom'] }, { required: ['rest'] }] })
    expect(rules.filter(rule => !JSON.stringify(rule).includes('cron'))).toHaveLength(11)
  })

  it.each(['good/short', 'good/environment', '../../config/penstock.example'])(
    'accepts %s.yaml',
    async name => {
      const text = await readFile(new URL(`${name}.yaml`, import.meta.url), 'utf8')
      expect(schema.safeParse(parse(text, { merge: true })).error?.issues).toBeUndefined()
    },
  )

  it.each([
    'unknown-key-at-the-top',
    'unknown-stream',
    'setting-of-another-stream',
    'unknown-limit-group',
    'limit-of-zero',
    'duration-without-a-unit',
    'unknown-words',
    'flag-that-is-no-flag',
    'no-provider',
    'no-apps',
    'empty-list-of-apps',
    'token-as-a-list',
    'unknown-region-and-plan',
  ])('refuses wrong/%s.yaml', async name => {
    const text = await readFile(new URL(`wrong/${name}.yaml`, import.meta.url), 'utf8')
    expect(schema.safeParse(parse(text)).success).toBe(false)
  })
})

describe('the reference table', () => {
  it('has a line for every key, but names the streams and limits of an app once', () => {
    const lines = configReference().split('\n').slice(2)
    const named = lines.map(line => /^\| `([^`]+)` \|/.exec(line)?.[1])
    expect(named).toEqual(
      keys.map(({ name }) => name).filter(name => !/^apps\[\]\.(streams|limits)\./.test(name)),
    )
  })

  it('tells what each key means', () => {
    expect(keys.filter(key => descriptionOf(key) === '')).toEqual([])
  })

  it('writes a key, what is allowed, the default and the meaning', () => {
    expect(configReference()).toContain(
      '| `log.level` | one of debug, info, warn, error | `info` | Least level that is logged. |',
    )
    expect(configReference()).toContain(
      '| `apps[].region` | one of cn, ap, eu, na, or a list of some | required | ',
    )
  })
})
