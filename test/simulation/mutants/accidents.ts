import type { Plant } from './plant.ts'

/** Bugs as a slip of the hand makes them, anywhere in the code, that no world showed once. */
export const accidents: readonly Plant[] = [
  {
    name: 'heir-leaves-open-gaps',
    says: 'whoever takes an app over while an answer may still arrive leaves its logs to their turns',
    group: 'ownership',
    from: 'code',
    file: 'src/engine/series/feed.ts',
    find: 'let settledAt = clock.monotonic() + arrivesWithin',
    put: 'let settledAt = Number.POSITIVE_INFINITY',
  },
  {
    name: 'overtaken-commit-given-up',
    says: 'a page whose statement another one overtook is given up, as where the database is away',
    group: 'progress',
    from: 'code',
    file: 'src/postgres/commit/run.ts',
    find: 'if (!isOnceOnly && (!isOvertaken || attempt === mostAttempts)) throw error',
    put: 'if (!isOnceOnly) throw error',
  },
  {
    name: 'any-date-of-retry-after',
    says: 'words of Retry-After that are no date of HTTP are read as one where a lenient reader can',
    group: 'limits',
    from: 'code',
    file: 'src/http/classify.ts',
    find: 'if (text === undefined || !fixdate.test(text)) return undefined',
    put: 'if (text === undefined) return undefined',
  },
  {
    name: 'pair-that-is-none-looked-into',
    says: 'what stands in the place of a pair of metrics is taken for an object',
    group: 'decoding',
    from: 'code',
    file: 'src/streams/calls/session-metrics.ts',
    find: `  if (!isObject(pair)) return undefined
  const [only`,
    put: '  const [only',
  },
  {
    name: 'first-bad-pair-alone-set-aside',
    says: 'of several pairs of a series that cannot be read the first alone is set aside',
    group: 'decoding',
    from: 'code',
    file: 'src/streams/calls/session-metrics.ts',
    find: '      bad.push(pair)',
    put: '      if (bad.length === 0) bad.push(pair)',
  },
  {
    name: 'calls-masked-beside-a-forgotten-room',
    says: 'once a room was forgotten everyone is masked in every call that is read later',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/commit.ts',
    find: 'const isOfRoom = mask.hasRooms && mask.isForgottenRoom(',
    put: 'const isOfRoom = mask.hasRooms || mask.isForgottenRoom(',
  },
]
