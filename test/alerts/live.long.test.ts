import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LiveStage, openLiveStage } from './live-stage.ts'
import { eventually, type FiringAlert, hasPrometheus } from './prometheus.ts'
import { allRules, queriesOf } from './rule-files.ts'
import { selectorsIn } from './selectors.ts'

/** How long an alert may take to come or to go, ms: the slowest waits for the next real-time values. */
const patience = 120_000

/** Real troubles, a real Prometheus, the rules as they are but for their durations. */
describe.skipIf(!hasPrometheus)('a Prometheus that watches the daemon', { timeout: 4 * patience }, () => {
  let stage: LiveStage

  beforeAll(async () => {
    stage = await openLiveStage()
    await stage.startDaemon()
  })
  afterAll(() => stage?.close())

  type Labels = Readonly<Record<string, string>>

  async function find(alertname: string, labels: Labels): Promise<FiringAlert | undefined> {
    const wanted = Object.entries({ alertname, ...labels })
    return (await stage.prometheus.firing()).find(alert =>
      wanted.every(([label, value]) => alert.labels[label] === value),
    )
  }

  /** The alert as it fires. */
  async function seeFire(alertname: string, labels: Labels = {}): Promise<FiringAlert> {
    let found: FiringAlert | undefined
    await eventually(async () => {
      found = await find(alertname, labels)
      return found !== undefined
    }, patience)
    if (!found) throw new Error(`${alertname} does not fire within ${patience} ms`)
    return found
  }

  async function seeResolve(alertname: string, labels: Labels = {}): Promise<void> {
    const resolved = await eventually(async () => (await find(alertname, labels)) === undefined, patience)
    expect(resolved, `${alertname} resolves`).toBe(true)
  }

  /** What is still to come. */
  const troubles = [
    { alert: 'PenstockStreamStalled', labels: { stream: 'app-events' } },
    { alert: 'PenstockStreamStalled', labels: { stream: 'cloud-players' } },
    { alert: 'PenstockRefusals', labels: {} },
    { alert: 'PenstockDatabaseDown', labels: {} },
    { alert: 'PenstockDown', labels: {} },
    { alert: 'PenstockQualityUnknown', labels: {} },
  ]

  it('sees audio freeze, and no other trouble yet', async () => {
    const { annotations } = await seeFire('PenstockAudioFreezing', { app: 'demo' })
    expect(annotations.description).toBe('60.0 % of the time audio was frozen; 5 % are allowed.')
    for (const { alert, labels } of troubles) expect(await find(alert, labels)).toBeUndefined()
    stage.quality.audio = 'as it is'
  })

  it('sees one service fail, another one hang, and a request refused', async () => {
    stage.sandbox.faults.set([
      { kind: 'latency', ms: 20_000, operation: 'listPlayers', rate: 1 },
      { kind: 'status', status: 500, operation: 'appEvents', rate: 1 },
      { kind: 'status', status: 200, code: 300, operation: 'callSearch', at: [1] },
    ])
    // A refusal is told for ten seconds only, whenever it comes.
    const [{ annotations }] = await Promise.all([
      seeFire('PenstockStreamStalled', { stream: 'app-events' }),
      seeFire('PenstockStreamStalled', { stream: 'cloud-players' }),
      seeFire('PenstockRefusals', { operation: 'callSearch', kind: 'limit_exceeded' }),
    ])
    expect(annotations.description).toMatch(
      /^No page of it was stored for \d+\.?\d*s, although there is something/,
    )
    stage.sandbox.faults.set([])
    await seeResolve('PenstockStreamStalled')
    await seeResolve('PenstockRefusals')
  })

  it('sees that audio is well again', async () => {
    await seeResolve('PenstockAudioFreezing')
    expect(await find('PenstockQualityUnknown', {})).toBeUndefined()
  })

  it('can evaluate every rule, on series that there are', async () => {
    expect(await stage.prometheus.brokenRules()).toEqual([])
    // Only a stream with moments makes the first, and only what the provider posts by itself the other.
    const seldom = ['penstock_longest_pause_seconds', 'penstock_notifications_total']
    const metrics = new Set(
      allRules()
        .flatMap(queriesOf)
        .flatMap(selectorsIn)
        .map(({ metric }) => metric),
    )
    const missing = async () => {
      const counts = await Promise.all([...metrics].map(metric => stage.prometheus.count(metric)))
      return [...metrics].filter((_, n) => counts[n] === 0)
    }
    await eventually(async () => (await missing()).length === seldom.length, patience)
    expect((await missing()).toSorted()).toEqual(seldom)
  })

  it('sees the database go and come', async () => {
    await stage.takeDatabaseAway()
    await seeFire('PenstockDatabaseDown')
    await stage.bringDatabaseBack()
    await seeResolve('PenstockDatabaseDown')
  })

  it('sees the daemon die and live again', async () => {
    await stage.killDaemon()
    await seeFire('PenstockDown')
    await stage.startDaemon()
    await seeResolve('PenstockDown')
    await seeResolve('PenstockOwnershipLost')
  })
})
