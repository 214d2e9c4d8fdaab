import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectAs, type FilledSchool, filledSchool } from '../sql-cookbook/filled.ts'
import { end, outage, start } from '../sql-cookbook/world.ts'
import { askPanel, askSql, choose, Filled, faultsOfAnswer, momentOf, valuesOf } from './ask.ts'
import { type Dashboard, panelsOf, readDashboards } from './files.ts'
import type { Moment, Values } from './macros.ts'

const year = 365 * 86_400_000
/** ms; there are two days of data, so a query that takes longer does something silly. */
const patience = 10_000

const dashboards = Object.entries(readDashboards()).filter(([name]) => name !== 'operations')
const { class: oneClass } = readDashboards() as { readonly class: Dashboard }

describe('the dashboards on a filled school', () => {
  let school: FilledSchool
  let reader: pg.Client
  beforeAll(async () => {
    school = await filledSchool()
    reader = await connectAs(school.readerUrl)
    await reader.query(`set statement_timeout = ${patience}`)
  })
  afterAll(async () => {
    await reader?.end()
    await school?.drop()
  })

  /** Everything that is wrong with the answers to all panels; what was answered is noted. */
  async function look(
    dashboard: Dashboard,
    values: Values,
    moment: Moment,
    filled: Filled,
  ): Promise<string[]> {
    const faults: string[] = []
    for (const panel of panelsOf(dashboard)) {
      for (const asked of await askPanel(reader, panel, values, moment)) {
        faults.push(...faultsOfAnswer(panel, asked))
        filled.note(panel, asked[1])
      }
    }
    return faults
  }

  describe.each(dashboards.filter(([name]) => name !== 'class'))('%s', (_, dashboard) => {
    it.each([
      ['as it opens', undefined],
      ['of a whole year', year],
    ])('%s fills every panel and every column', async (_title, span) => {
      const moment = momentOf(dashboard, end, span)
      const filled = new Filled()
      expect(await look(dashboard, await choose(reader, dashboard, moment), moment, filled)).toEqual([])
      expect(filled.missing(dashboard)).toEqual([])
    })

    it('shows nothing, and no error, of a time without data', async () => {
      const values = await choose(reader, dashboard, momentOf(dashboard, end))
      const before = momentOf(dashboard, start - 2 * year)
      expect(await look(dashboard, values, before, new Filled())).toEqual([])
    })

    it('shows one app alone', async () => {
      const moment = momentOf(dashboard, end, year)
      const filled = new Filled()
      expect(await look(dashboard, { app: ['dayschool'] }, moment, filled)).toEqual([])
      expect(filled.texts().filter(text => text.includes('evening'))).toEqual([])
    })
  })

  describe('class', () => {
    it('opens with the newest class, and tells who is in it', async () => {
      const moment = momentOf(oneClass, end)
      const values = await choose(reader, oneClass, moment)
      const { rows } = await reader.query(`
        select room_uuid as room, incarnation::text from classroom.room order by started_at desc limit 1`)
      expect(values).toEqual({ ...rows[0], app: ['dayschool', 'evening'] })
      const filled = new Filled()
      expect(await look(oneClass, values, moment, filled)).toEqual([])
      const empty = filled.missing(oneClass)
      for (const title of ['The class', 'State of the room', 'Attendance', 'Head count']) {
        expect(empty).not.toContain(`${oneClass.uid}: ${title}`)
      }
    })

    it('fills every panel and every column with one class or another, and each without a fault', async () => {
      const filled = new Filled()
      const faults = new Set<string>()
      const classes = await reader.query<{ app: string[]; room: string; incarnation: string; at: Date }>(`
        select array[app_id] as app, room_uuid as room, incarnation::text, started_at as at
        from classroom.room where started_at is not null order by started_at desc`)
      for (const { at, ...values } of classes.rows) {
        const from = at.getTime() - 600_000
        const moment = { from, to: from + 4 * 3_600_000, interval: 20_000 }
        for (const fault of await look(oneClass, values, moment, filled)) faults.add(fault)
      }
      expect([...faults]).toEqual([])
      expect(filled.missing(oneClass)).toEqual([])
    })

    it('takes the use of a room that took place in the chosen time', async () => {
      const { rows } = await reader.query<{ room: string; incarnation: number; at: Date }>(`
        select room_uuid as room, incarnation, started_at + interval '5 minutes' as at from classroom.room
        where app_id = 'evening' and ended_at is not null order by started_at limit 1`)
      const [{ room, incarnation, at }] = rows as [(typeof rows)[0]]
      const moment = momentOf(oneClass, at.getTime(), 60_000)
      const [, rooms, uses] = oneClass.templating.list.filter(({ type }) => type === 'query')
      expect(await valuesOf(reader, rooms!, { app: ['evening'] }, moment)).toContain(room)
      const [first] = await valuesOf(reader, uses!, { app: ['evening'], room }, moment)
      expect(first).toBe(String(incarnation))
    })

    it('lets no name of a room out of its quotes', async () => {
      const values = { app: ['evening'], room: "o'clock') or true --", incarnation: '1' }
      const filled = new Filled()
      expect(await look(oneClass, values, momentOf(oneClass, end), filled)).toEqual([])
      expect(filled.missing(oneClass)).toHaveLength(panelsOf(oneClass).length)
    })
  })

  it.each(dashboards)('%s marks the night in which nobody read', async (_, dashboard) => {
    const moment = { ...momentOf(dashboard, end), from: start }
    const values = await choose(reader, dashboard, moment)
    for (const { target } of dashboard.annotations.list) {
      const { columns, rows } = await askSql(reader, target.rawSql!, values, moment)
      expect(columns.map(column => column.name)).toEqual(['time', 'timeend', 'text', 'tags'])
      expect(columns.map(column => column.kind)).toEqual(['time', 'time', 'text', 'text'])
      const spans = rows.map(([from, to]) => ({ from: Number(from), to: Number(to) }))
      expect(spans.some(({ from, to }) => from <= outage.to && to >= outage.from)).toBe(true)
      for (const { from, to } of spans) expect(from).toBeLessThanOrEqual(to)
    }
  })

  const quality = dashboards.find(([name]) => name === 'call-quality')![1]
  const usage = dashboards.find(([name]) => name === 'usage')![1]
  it.each<[string, Dashboard, string, string, RegExp]>([
    [
      'a series that is not sorted',
      quality,
      'group by 1, 2\\norder by 1',
      'group by 1, 2\\norder by 1 desc',
      /not sorted/,
    ],
    ['a series without a time', quality, 'h.hour as time', 'h.hour as begin', /no column time/],
    [
      'a line that is named by no metric',
      usage,
      'product as metric',
      'product as name',
      /a value is no number/,
    ],
    ['a series in the format of a table', usage, '"time_series"', '"table"', /format is not a series/],
    [
      'two values of a line at one time',
      quality,
      "h.app_id || ' ' || line.name as metric",
      'h.app_id as metric',
      /two values at one time/,
    ],
    [
      'a column that is not there',
      quality,
      'user_minutes desc',
      'user_hours desc',
      /column .*user_hours.* does not exist/,
    ],
    [
      'a macro that Grafana does not have',
      quality,
      '$__timeFilter(created_at)',
      '$__timeBetween(created_at)',
      /no macro __timeBetween/,
    ],
    [
      'a macro of more than a column',
      usage,
      '$__timeFilter(created_at)',
      '$__timeFilter(date(created_at))',
      /__timeFilter of date/,
    ],
    [
      'a panel without rows',
      quality,
      "metric = 'networkDelay'",
      "metric = 'networkdelay'",
      /: Network delay rate$/m,
    ],
    [
      'a column that is always empty',
      quality,
      'session_quality\\nwhere app_id',
      'session_quality\\nwhere uid is null and app_id',
      /By network/,
    ],
    [
      'a number that is two',
      usage,
      'as calls from analytics.call where',
      'as calls, 1 as one from analytics.call where',
      /not one number/,
    ],
    [
      'an override of nothing',
      quality,
      '"options":"Round trip"',
      '"options":"Roundtrip"',
      /override is for the column Roundtrip/,
    ],
    [
      'what a reader may not read',
      usage,
      'count(*) as players from',
      '(select count(body) from ingest.dead_letter) as players from',
      /permission denied/,
    ],
  ])('would not overlook %s', async (_, dashboard, from, to, found) => {
    const text = JSON.stringify(dashboard)
    expect(text).toContain(from)
    const spoilt = JSON.parse(text.replaceAll(from, to)) as Dashboard
    const moment = momentOf(spoilt, end)
    const filled = new Filled()
    const values = await choose(reader, spoilt, moment)
    const faults = await look(spoilt, values, moment, filled).catch((error: Error) => [error.message])
    expect([...faults, ...filled.missing(spoilt)].join('\n')).toMatch(found)
  })

  it('would not overlook a state without a word', async () => {
    const text = JSON.stringify(oneClass)
    const spoilt = JSON.parse(
      text.replaceAll("array['idle', ", "array['idle', 'waiting', 'paused', "),
    ) as Dashboard
    const moment = momentOf(spoilt, end, year)
    const faults = new Set<string>()
    const { rows } = await reader.query<{ app: string[]; room: string; incarnation: string }>(`
      select distinct array[app_id] as app, room_uuid as room, incarnation::text from players.class_player where status = 'destroyed'`)
    for (const values of rows) {
      for (const fault of await look(spoilt, values, moment, new Filled())) faults.add(fault)
    }
    expect([...faults].join('\n')).toMatch(/Status of the players: there is no word for the state 7/)
  })
})
