import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { penstock } from '../commands/penstock.ts'
import { ask } from '../support/embedded.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { unknownIn } from './measured.ts'
import { canRun, complaintsAbout } from './promtool.ts'
import { allAlerts, thresholdNames } from './rule-files.ts'
import { blocks, blocksOf, commands, inlineQueries, links, paragraphs } from './runbook.ts'

describe('the runbook', () => {
  it('has a paragraph for each alert and none besides', () => {
    const titles = paragraphs().map(({ title }) => title)
    expect(titles.toSorted()).toEqual(
      allAlerts()
        .map(({ alert }) => alert)
        .toSorted(),
    )
  })

  it.each(paragraphs())(
    'tells of $title what it means, what to look at by which query, and what to do',
    ({ text }) => {
      expect(text).toMatch(/\*\*Means:\*\* [\s\S]+\*\*Look:\*\*[\s\S]+\*\*Do:\*\* /)
      expect(blocksOf(text).filter(({ language }) => ['promql', 'sql'].includes(language))).not.toEqual([])
    },
  )

  it('is short: nobody reads forty lines at night', () => {
    const prose = paragraphs().map(({ title, text }) => ({
      title,
      lines: text
        .replaceAll(/^```[\s\S]*?^```$/gm, '')
        .split('\n')
        .filter(line => line.trim() !== '').length,
    }))
    expect(prose.filter(({ lines }) => lines > 14)).toEqual([])
  })

  it('leads nowhere that is not there', () => {
    const titles = new Set(paragraphs().map(({ title }) => `#${title.toLowerCase()}`))
    const docs = new URL('../../docs/', import.meta.url)
    const broken = links().filter(link =>
      link.startsWith('#') ? !titles.has(link) : !existsSync(fileURLToPath(new URL(link, docs))),
    )
    expect(broken).toEqual([])
  })

  it('names thresholds that there are', () => {
    const named = paragraphs().flatMap(({ text }) => [...text.matchAll(/`(\w+_(?:seconds|percent))`/g)])
    expect(named.map(([, name]) => name).filter(name => !thresholdNames().includes(name!))).toEqual([])
  })
})

describe('its queries of Prometheus', () => {
  const queries = [...blocks('promql'), ...inlineQueries()]

  it.skipIf(!canRun)('can be read by Prometheus', async () => {
    expect(queries.length).toBeGreaterThan(20)
    expect(await complaintsAbout(queries)).toBe('')
  })

  it('ask for what the process tells, by labels that it has', async () => {
    expect(await unknownIn(queries)).toEqual([])
  })
})

describe('its SQL', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await cloneDatabase()
  })
  afterAll(() => database.drop())

  it.each(blocks('sql').map(code => ({ code })))(
    'runs on a database that was prepared: $code',
    async ({ code }) => {
      await expect(ask(readOnly(database.url), code)).resolves.toBeInstanceOf(Array)
    },
  )
})

describe('its commands', () => {
  const called = [...new Set(commands().map(nameOf))]

  it.each(called)('penstock %s has every option that is named', async name => {
    const { code, stdout } = await penstock([...name.split(' '), '--help'])
    expect(code).toBe(0)
    const help = name.startsWith('api') ? stdout + (await penstock(['api', '--help'])).stdout : stdout
    const options = commands()
      .filter(command => nameOf(command) === name)
      .flatMap(command => command.match(/--[\w-]+/g) ?? [])
    expect(options.filter(option => !help.includes(option))).toEqual([])
  })
})

/** A runbook that writes would be one to be afraid of. */
function readOnly(url: string): string {
  const address = new URL(url)
  address.searchParams.set('options', '-c default_transaction_read_only=on')
  return address.href
}

/** The words of a command before its options. */
function nameOf(command: string): string {
  const [, ...words] = command.split(' ')
  const end = words.findIndex(word => word.startsWith('--'))
  return words.slice(0, end < 0 ? words.length : end).join(' ')
}
