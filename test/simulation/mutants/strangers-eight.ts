import type { Plant } from './plant.ts'

/** Bugs of an eighth list, drawn by chance from what the documents say, before any code was read. */
export const strangersEight: readonly Plant[] = [
  {
    name: 'other-products-asked-as-native',
    says: 'the values of each product are asked for as those of Native, and stored under its own name',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/series/series.ts',
    find: `    if (name !== 'aggregateGranularity' ||`,
    put: `    if (name === 'productType') return 'Native'
    if (name !== 'aggregateGranularity' ||`,
  },
  {
    name: 'window-that-goes-on',
    says: 'the end of a real-time question is rounded up to the end of a window that is not over',
    group: 'ranges',
    from: 'contract',
    file: 'src/planning/windows.ts',
    find: 'upperBound: floorTo(upperBound, step) }',
    put: 'upperBound: step < BUCKETS_FROM ? ceilTo(upperBound, step) : floorTo(upperBound, step) }',
    also: [
      {
        file: 'src/planning/windows.ts',
        find: 'end < now - dataDelay && end - start < timeFrame',
        put: 'end - 20 < now - dataDelay && end - start < timeFrame',
      },
    ],
  },
  {
    name: 'time-off-is-lost',
    says: 'the time in which a stream was switched off is lost when it can no longer be had',
    group: 'ranges',
    from: 'contract',
    file: 'src/postgres/windows.ts',
    find: 'where f.app_id = :app and f.stream = :stream and (w.last is null or w.first < w.last)',
    put: 'where false',
  },
  {
    name: 'plan-of-the-start',
    says: 'an app of which a changed configuration says another plan keeps the limits of the former one until a restart',
    group: 'limits',
    from: 'contract',
    file: 'src/commands/reload.ts',
    find: 'const settings = { ...engineSettings(wanted), renewEvery: current.settings().renewEvery }',
    put: `const plans = new Map(current.config().apps.map(({ id, plan }) => [id, plan]))
  const kept = wanted.apps.map(app => ({ ...app, plan: plans.get(app.id) ?? app.plan }))
  const settings = { ...engineSettings({ ...wanted, apps: kept }), renewEvery: current.settings().renewEvery }`,
  },
  {
    name: 'lost-shard-never-drained-again',
    says: 'a process that lost a shard and takes it again later believes that its apps are drained already',
    group: 'ownership',
    from: 'contract',
    file: 'src/engine/supervisor.ts',
    find: `      if (held) this.#release(app.id, held)
      if (fence) this.#start(app, fence)`,
    put: `      if (held) held.controller.abort()
      else if (fence) this.#start(app, fence)`,
  },
  {
    name: 'settings-of-one-app-for-all',
    says: 'how the streams of one app differ from the others holds for all apps of the file',
    group: 'keeping',
    from: 'contract',
    file: 'src/config/config.ts',
    find: 'const { region: regions, streams: own, limits, ...rest } = app',
    put: `const { region: regions, streams: _, limits, ...rest } = app
      const own: typeof app.streams = Object.assign({}, ...settings.apps.map(({ streams }) => streams))`,
  },
  {
    name: 'refusals-by-status-alone',
    says: 'the metric of refusals counts those that have a status of HTTP for it, not those of which the body tells beside 200',
    group: 'keeping',
    from: 'contract',
    file: 'src/engine/admission/admission.ts',
    find: 'if (failure && isLimitViolation(failure.kind)) meter',
    put: 'if (failure && failure.status !== 200 && isLimitViolation(failure.kind)) meter',
  },
]
