import type { Plant } from './plant.ts'

export const classrooms: readonly Plant[] = [
  {
    name: 'fingerprint-blind',
    says: 'a log is known again by sequence and type of its first events alone',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/room-events.ts',
    find: `if (other.cmd !== known.cmd || other.time !== known.time) return 'another'`,
    put: `if (other.cmd !== known.cmd) return 'another'`,
    also: [
      {
        file: 'src/streams/room-events.ts',
        find: `return known.hash === '' || known.hash === other.hash ? 'same words' : 'other words'`,
        put: `return 'same words'`,
      },
    ],
  },
  {
    name: 'lists-of-the-former-room',
    says: 'recordings are stored under the former room of the name',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/recordings.ts',
    find: `room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: false },`,
    put: `room: { kind: 'incarnation', incarnation: Math.max(1, streamState.incarnation - 1), opens: false },`,
  },
  {
    name: 'others-do-not-start-over',
    says: 'when a name is used for another room the other streams go on where they were',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/events.ts',
    find: `and p.stream = any (:room_streams::text[]) and p.stream <> :stream
      and :opens::boolean`,
    put: `and p.stream = any (:room_streams::text[]) and p.stream = :stream
      and :opens::boolean`,
  },
  {
    name: 'restarted-class-stays-ended',
    says: 'a class that is started again after its end counts as ended',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/rooms.ts',
    find: 'if (endedAt === undefined || life?.endedAt === undefined) return { incarnation, sequence, endedAt }',
    put: `if (life?.endedAt === undefined) return { incarnation, sequence, endedAt }
  if (endedAt === undefined) return { incarnation, sequence, endedAt: life.endedAt }`,
  },
  {
    name: 'hole-one-too-long',
    says: 'a hole reaches to the event after it',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/parts/holes.ts',
    find: 'holes.push([after(last), before(sequence)])',
    put: 'holes.push([after(last), sequence])',
  },
  {
    name: 'hole-between-pages',
    says: 'a hole between two pages of a log is not seen',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/events/read-log.ts',
    find: 'const walk = walkOn({ last: fold.lastSequence, holes: fold.holes }, sequences)',
    put: 'const walk = walkOn({ last: null, holes: fold.holes }, sequences)',
  },
  {
    name: 'absent-at-once',
    says: 'a hole is natural when one reading has shown it',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/parts/holes.ts',
    find: 'export const readsUntilAbsent = 3',
    put: 'export const readsUntilAbsent = 1',
  },
  {
    name: 'absent-within-seconds',
    says: 'readings that follow each other at once show a hole to be natural',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/parts/holes.ts',
    find: 'export const readsApart = 30_000',
    put: 'export const readsApart = 0',
  },
  {
    name: 'absent-for-good',
    says: 'what a log tells after all stays absent in the ledger of gaps',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/settled-by-log.ts',
    find: "and g.unit = 'sequence' and g.state in ('open', 'lost', 'absent') and exists (select from moved)",
    put: "and g.unit = 'sequence' and g.state in ('open', 'lost') and exists (select from moved)",
  },
  {
    name: 'natural-holes-left-alone',
    says: 'a hole that was taken to be natural is not looked at before the room is forgotten',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/room-events.ts',
    find: "(room === 'doubtful' && tally.length > 0)",
    put: "(room === 'doubtful' && tally.length < 0)",
  },
  {
    name: 'recordings-before-files',
    says: 'a recording that ended is not waited for though its file is missing',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/recordings.ts',
    find: 'return Boolean(value.url) || files.length > 0',
    put: 'return true',
  },
  {
    name: 'second-page-of-a-list',
    says: 'of the list of recordings the first page alone is read',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/recordings.ts',
    find: '  read: operation.readBatch,',
    put: '  read: answer => ({ ...operation.readBatch(answer), nextId: undefined }),',
  },
  {
    name: 'gone-at-first-denial',
    says: 'a room is gone when its log was once not there',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/whereabouts.ts',
    find: 'const TRIES = { room: 3, log: 5 } as const',
    put: 'const TRIES = { room: 1, log: 1 } as const',
  },
  {
    name: 'room-complete-beside-a-letter',
    says: 'a room is complete though an item of it was set aside',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0006-classes-and-completeness.sql',
    find: `                when ingest.unreadable_items(p.app_id, p.stream, p.series, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
`,
    put: '',
  },
  {
    name: 'first-stay-alone',
    says: 'who leaves and comes back was there once',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0003-classroom.sql',
    find: `  where action = 'enter';
comment on view classroom.attendance_interval`,
    put: `  where action = 'enter' and action_before is null;
comment on view classroom.attendance_interval`,
  },
  {
    name: 'empty-resources-believed',
    says: 'one answer without data is believed, and removes all resources',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/cursor-task.ts',
    find: 'const BELIEVED_WITHOUT_DATA = 3',
    put: 'const BELIEVED_WITHOUT_DATA = 1',
  },
  {
    name: 'equal-sequence-in-silence',
    says: 'other data under the sequence of a stored event leave no divergence',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/events.ts',
    find: `    from judged j where j.contradicts
`,
    put: `    from judged j where j.contradicts and j.stored_source is null
`,
  },
  {
    name: 'widget-asked-only-in-class',
    says: 'quizzes and polls are not asked about any more after the end of the class',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/rescheduler.ts',
    find: `if (next.kind === 'sync') {`,
    put: `if (next.kind === 'sync' && (stream.kind !== 'log' || stream.isParent || state.endedAt === undefined)) {`,
  },
  {
    name: 'tail-refused-is-the-end',
    says: 'a log whose last nextId is refused counts as read',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/sync.ts',
    find: `      hasRefusedTail = true
      place = rewound(context, place.progress, place.asked)
      continue`,
    put: `      hasRefusedTail = true
      return { end: 'done', ...found }`,
  },
  {
    name: 'old-change-of-state-wins',
    says: 'the change of state that is told last decides, not the one of the highest sequence',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/room-life.ts',
    find: `'case when excluded.state_sequence >= coalesce(t.state_sequence, -1) then excluded.state else t.state end'`,
    put: `'case when excluded.state_sequence >= -1 then excluded.state else t.state end'`,
  },
  {
    name: 'closed-when-its-class-ends',
    says: 'the series of a room are closed as soon as its class has ended',
    group: 'classrooms',
    from: 'code',
    file: 'src/planning/cadence.ts',
    find: 'const LAST_SYNC = 0.9',
    put: 'const LAST_SYNC = 0',
  },
  {
    name: 'closed-room-sleeps-on',
    says: 'news of a room whose syncs had ended do not have its log read again',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/room-life.ts',
    find: 'from judged j where j.fresh or j.contradicts`',
    put: 'from judged j where false`',
    // Who heard the news has the log read at once, and only who is killed before that would miss it.
    also: [
      {
        file: 'src/engine/series/rooms.ts',
        find: `    if (!this.areFollowed) return []
    if (!this.#rooms.has`,
        put: `    if (!this.areFollowed) return []
    if (this.#met.has(hint.room) && !this.#rooms.has(hint.room)) return []
    if (!this.#rooms.has`,
      },
    ],
  },
  {
    name: 'lists-of-a-doubtful-room',
    says: 'lists are stored though the room was not verified lately',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/lists.ts',
    find: `      and r.verified_at > ingest.clock() - :memory::interval
`,
    put: '',
    // Before they are asked for the log is read; and pages that go together are told apart by the same time.
    also: [
      {
        file: 'src/engine/series/rescheduler.ts',
        find: `if (scope === 'app' || isParent || this.#rooms.isVerified(room)) return false`,
        put: `if (scope === 'app' || isParent || room !== '') return false`,
      },
      {
        file: 'src/postgres/commit/group-statements.ts',
        find: `
          and r.verified_at > ingest.clock() - :memory::interval)
      else`,
        put: `)
      else`,
      },
    ],
  },
  {
    name: 'tail-trusted-without-a-probe',
    says: 'after a long silence the last page is read without a look at the beginning',
    group: 'classrooms',
    from: 'code',
    file: 'src/engine/series/sync.ts',
    find: `const isDoubtful = stream.isParent && (!certain || room === 'doubtful')`,
    put: 'const isDoubtful = false',
  },
  {
    name: 'empty-probe-trusted',
    says: 'a first page without events vouches for the room',
    group: 'classrooms',
    from: 'code',
    file: 'src/streams/room-events.ts',
    find: `  if (verdict === 'undecided' && page.items.length === 0)
    return { ...look(log, streamState), isUndecided: true }
`,
    put: '',
  },
  {
    name: 'absent-counted-as-lost',
    says: 'what the log has shown to be missing for good is lost once more when the room is forgotten',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/gaps.ts',
    find: `where n.next_sequence > n.sequence + 1 and 'feed' in (n.source, n.next_source)`,
    put: 'where n.next_sequence > n.sequence + 1',
  },
  {
    name: 'removed-resource-stays',
    says: 'a resource that the list no longer names stays',
    group: 'classrooms',
    from: 'code',
    file: 'src/streams/resources.ts',
    find: 'const gone = isComplete ? streamState.known.filter(id => !named.has(id)) : []',
    put: 'const gone: readonly string[] = []',
  },
  {
    name: 'closed-later-than-ended',
    says: 'a class that is closed after its end ended when it was closed',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/room-life.ts',
    find: 'min(c.at) filter (where c.state in (2, 3) and c.sequence > c.begun) as ended_at',
    put: 'max(c.at) filter (where c.state in (2, 3) and c.sequence > c.begun) as ended_at',
  },
  {
    name: 'room-complete-when-read-once',
    says: 'a room is complete once it was read to an end, whatever happened after',
    group: 'classrooms',
    from: 'code',
    file: 'migrations/0006-classes-and-completeness.sql',
    find: `select case when not coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at, r.first_seen_at), false) then 'unread'`,
    put: `select case when p.caught_up_at is null then 'unread'`,
  },
]
