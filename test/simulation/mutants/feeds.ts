import type { Plant } from './plant.ts'

/** Bugs in what is made of the feed of an app, and in what is said of what it did not tell. */
export const feeds: readonly Plant[] = [
  {
    name: 'feed-gap-from-the-request',
    says: 'the gap of a lost answer of the feed begins with its request',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: `            coalesce(
              (select c.sent_at from ingest.debit c`,
    put: `            coalesce(
              d.sent_at, (select c.sent_at from ingest.debit c`,
  },
  {
    name: 'feed-gap-from-the-last-try',
    says: 'the gap of a lost answer of the feed begins with the request before it, whatever came of that',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: `c.n < d.n and c.outcome = 'committed'
                 and c.told_all is not false`,
    put: `c.n < d.n`,
  },
  {
    name: 'unknown-room-of-the-feed-unread',
    says: 'the log of a room that the feed names is not read where the room was not known before',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/rescheduler.ts',
    find: `    for (const hint of hints) {
`,
    put: `    for (const hint of hints) {
      if (from.kind === 'feed' && !this.#rooms.find(hint.room)) continue
`,
  },
  {
    name: 'feed-gap-closed-at-once',
    says: 'the gap of a lost answer of the feed is repaired before the logs were read',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: `where p.app_id = g.app_id and p.closed_at is null and (p.caught_up_at is null or p.caught_up_at <= g.range_to)
`,
    put: `where false and p.app_id = g.app_id and p.closed_at is null and (p.caught_up_at is null or p.caught_up_at <= g.range_to)
`,
  },
  {
    name: 'second-region-unread',
    says: 'of an app in two regions one feed is read',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/whereabouts.ts',
    find: `return regions.length > 0 ? regions.map(({ name }) => name) : ['']`,
    put: `return regions.length > 0 ? regions.slice(0, 1).map(({ name }) => name) : ['']`,
  },
  {
    name: 'old-event-of-the-feed-believed',
    says: 'an event that the feed tells of the former room is stored with the present one',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/events.ts',
    find: "when e.at_source = 'event' then coalesce(e.event_time >= p.begun, false)",
    put: "when e.at_source = 'event' then true",
  },
  {
    name: 'silent-room-trusted',
    says: 'the feed is believed of a room however long it was silent',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/events.ts',
    find: 'r.incarnation is null or r.verified_at > ingest.clock() - :memory::interval as trusted',
    put: 'true as trusted',
  },
  {
    name: 'forgotten-room-is-no-loss',
    says: 'a lost answer of the feed is repaired though a room was forgotten before its log could be read',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/gaps.ts',
    find: `where r.app_id = g.app_id and r.forgotten_at > g.range_from
`,
    put: `where r.app_id = g.app_id and false
`,
  },
  {
    name: 'pause-is-no-loss',
    says: 'a pause longer than the provider remembers is not set down',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/gaps.ts',
    find: `      and h.at < ingest.clock() - :memory::interval and \${owned}`,
    put: `      and false and \${owned}`,
  },
  {
    name: 'part-of-the-feed-is-all',
    says: 'a feed that holds more back counts as having told all',
    group: 'classrooms',
    from: 'code',
    file: 'src/engine/series/cursor-task.ts',
    find: 'isLast(page) && !pageResult.holdsBack && !pageResult.isRepeated,',
    put: 'isLast(page),',
  },
  {
    name: 'failed-feed-not-suspected',
    says: 'an answer of the feed that failed is not looked for among the gaps, nor what a pause may have hidden',
    group: 'classrooms',
    from: 'code',
    file: 'src/engine/series/rescheduler.ts',
    find: `      case 'looped':
        if (stream.kind === 'feed') feedGaps(series).suspect()
`,
    put: `      case 'looped':
`,
    // Without this the ledger is looked through later, and nothing is lost.
    also: [{ file: 'src/engine/series/feed.ts', find: 'if (since > memory) suspect()', put: '' }],
  },
  {
    name: 'feed-ends-with-a-404',
    says: 'a feed that says once that it is not there is not asked any more',
    group: 'classrooms',
    from: 'code',
    file: 'src/engine/failures.ts',
    find: `return scope === 'room' && failure.kind === 'not_found' && failure.code === classroomCodes.noRoom`,
    put: `return failure.kind === 'not_found' && (scope !== 'room' || failure.code === classroomCodes.noRoom)`,
  },
]
