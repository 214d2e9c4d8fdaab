import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { faultKinds, type Profile, profiles } from '../src/index.ts'
import { credentials, fed, feedPath, key, play } from './play.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

/** The rows of a part: what stands in each of its columns. */
function rowsOf(part: string): readonly (readonly string[])[] {
  const text = readme.split(/^## /m).find(each => each.startsWith(part))
  const rows = [...text!.matchAll(/^\| `.*$/gm)].map(([row]) => row.split('|').slice(1, -1))
  return rows.map(row => row.map(cell => cell.trim()))
}

it('the README has each profile, with its numbers', () => {
  const numbersOf = ({ kind: _, ...profile }: Profile) => {
    const { historyMinutes, ...rest } = { historyMinutes: undefined, ...profile }
    return Object.values(rest)
  }
  const told = rowsOf('Profiles').map(([name, text]) => [
    name!.replaceAll('`', ''),
    text!.match(/\d[\d,]*/g)!.map(number => Number(number.replaceAll(',', ''))),
  ])
  expect(told).toEqual(Object.entries(profiles).map(([name, profile]) => [name, numbersOf(profile)]))
})

it('the README has each kind of fault, and says whether the world acts', async () => {
  const rows = rowsOf('Faults')
  expect(rows.map(([kind]) => kind)).toEqual(faultKinds.map(kind => `\`${kind}\``))
  const switches = { appFeed: 'consuming' } as const
  const [first] = fed(await play({ switches }).get(feedPath))
  for (const [i, kind] of faultKinds.entries()) {
    const { sandbox, clock, get } = play({ switches, faults: [{ kind, at: [1] }] })
    const request = new Request(`http://sandbox${feedPath}`, { headers: credentials })
    const answer = Promise.resolve(sandbox.fetch(request)).catch(() => undefined)
    await clock.advance(1_000)
    await answer
    const [next] = fed(await get(feedPath))
    const isActed = next === undefined || key(next) !== key(first!)
    expect([kind, rows[i]![2]]).toEqual([kind, isActed ? 'yes' : 'no'])
  }
})
