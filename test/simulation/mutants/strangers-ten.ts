import type { Plant } from './plant.ts'

/**
 * Bugs of a tenth list, chosen from what the documents say before any code was read; the last seven of them by one who knew the
 * names of the plants before, so that none of those would be named again.
 */
export const strangersTen: readonly Plant[] = [
  {
    name: 'group-without-compare',
    says: 'pages that go together move their progress without comparing the version that was read',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/group-statements.ts',
    find: 'where t.app_id = :app and t.stream = p.stream and t.series = p.series and t.version = p.version',
    put: 'where t.app_id = :app and t.stream = p.stream and t.series = p.series',
    also: [
      {
        file: 'src/postgres/commit/group-statements.ts',
        find: 'where t.ctid = s.place and t.version = s.version',
        put: 'where t.ctid = s.place',
      },
    ],
  },
  {
    name: 'answer-not-stored-is-settled',
    says: 'the debit of an answer that came and could not be stored is settled as if it had been refused',
    group: 'progress',
    from: 'contract',
    file: 'src/engine/admission/admission.ts',
    find: `return this.#ports.ledger.settle(grant, 'unread', grant.clockBounds)`,
    put: `return this.#ports.ledger.settle(grant, 'refused', grant.clockBounds)`,
  },
  {
    name: 'gap-over-midnight-in-no-day',
    says: 'a gap that reaches over midnight spoils neither of the two days',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0030-ends-told-late.sql',
    find: 'and g.range_from < t.ends_at and g.range_to > t.begins_at',
    put: 'and g.range_from >= t.begins_at and g.range_to <= t.ends_at',
  },
  {
    name: 'open-call-kept-where-the-window-begins',
    says: 'a call that goes on keeps the second owed with which the window began that listed it, not its own',
    group: 'ranges',
    from: 'contract',
    file: 'src/streams/calls.ts',
    find: '...open.map(call => call.created_ts)',
    put: '...open.map(() => range.from)',
  },
  {
    name: 'debits-together-do-not-count-each-other',
    says: 'debits that are taken at one time are held against what was spent before them, not against each other',
    group: 'limits',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: `where d.scope = p_scope and d.limit_group = p_group and least(d.settled_at, d.dead_at) > v_now - v_window
        order by`,
    put: `where d.scope = p_scope and d.limit_group = p_group and least(d.settled_at, d.dead_at) > v_now - v_window
          and d.xmin <> pg_current_xact_id()::xid
        order by`,
  },
  {
    name: 'first-file-makes-a-recording-whole',
    says: 'a recording that goes on is read no more once it has its first file',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/recordings.ts',
    find: 'if (value.status === recordingStatuses.recording) return false',
    put: 'if (value.status === recordingStatuses.recording) return files.length > 0',
    also: [
      {
        file: 'migrations/0006-classes-and-completeness.sql',
        find: 'and (c.status = 1 or (c.status = 2',
        put: `and (c.status = 1 and not exists (
            select from classroom.recording_file f
            where f.app_id = c.app_id and f.room_uuid = c.room_uuid and f.incarnation = c.incarnation
              and f.record_id = c.record_id)
          or (c.status = 2`,
      },
      {
        file: 'migrations/0030-ends-told-late.sql',
        find: 'and (k.status = 1 or (k.status = 2',
        put: `and (k.status = 1 and not exists (
                         select from classroom.recording_file f
                         where f.app_id = k.app_id and f.room_uuid = k.room_uuid and f.incarnation = k.incarnation
                           and f.record_id = k.record_id)
                       or (k.status = 2`,
      },
    ],
  },
  {
    name: 'started-again-reads-the-log-alone',
    says: 'of a class that is started again after its end the log alone is read again',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/rooms.ts',
    find: 'const all = isStartedAgain(before, room.life)',
    put: 'const all = isStartedAgain(before, room.life) && false',
  },
  {
    name: 'listed-twice-counts-twice',
    says: 'a listing is whole when it has as many entries as there are players, also where one is listed twice',
    group: 'players',
    from: 'contract',
    file: 'src/streams/parts/known-players.ts',
    find: 'listing: { next: page.nextId, seen: [...seen], total }',
    put: 'listing: { next: page.nextId, seen: [...begun.seen, ...ids], total }',
    also: [
      {
        file: 'src/streams/parts/known-players.ts',
        find: 'state: seen.size === total ?',
        put: 'state: begun.seen.length + ids.length === total ?',
      },
    ],
  },
  {
    name: 'learned-by-one-stream',
    says: 'what a refusal teaches of a bound holds for the stream that was refused, not for all questions of its group',
    group: 'limits',
    from: 'contract',
    file: 'src/engine/app.ts',
    find: '{ choice, rules, answered, availableData }: Group,',
    put: '{ choice, answered, availableData }: Group,',
    also: [
      {
        file: 'src/engine/app.ts',
        find: `    const { app } = context
    if (stream.kind === 'substream') {`,
        put: `    const { app } = context
    const range = app.limits[stream.operation.limitGroup]!.range!
    const rules = createRangeRules(range, context.clock, this.#options.clockOffset)
    if (stream.kind === 'substream') {`,
      },
    ],
  },
  {
    name: 'gone-in-one-region',
    says: 'a room of an app in several regions is gone when the first of them says so',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/rescheduler.ts',
    find: '    if (room?.whereabouts.isElsewhere(region)) return 0\n',
    put: '',
  },
  {
    name: 'total-by-one-name',
    says: 'the total of a reward is read under the name of the document alone, not under the one that is seen elsewhere',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/events/people.ts',
    find: 'total: value.total ?? value.totalReward ?? null,',
    put: 'total: value.total ?? null,',
  },
  {
    name: 'channel-left-at-its-end',
    says: 'a channel is asked about no more from the moment at which its class or call ends',
    group: 'ranges',
    from: 'contract',
    file: 'src/engine/ranges/window-following.ts',
    find: 'await store.liveChannels(app.id, now() - GRACE)',
    put: 'await store.liveChannels(app.id, now())',
    also: [
      {
        file: 'src/engine/ranges/window-following.ts',
        find: `/** A channel keeps its place for so long after its end, seconds, so that what came last is read. */
const GRACE = 900
`,
        put: '',
      },
    ],
  },
  {
    name: 'change-dated-as-the-clock-shows',
    says: 'a change of a player is dated as the clock shows, also where that is before the change before it',
    group: 'players',
    from: 'contract',
    file: 'src/streams/parts/known-players.ts',
    find: 'return Math.max(receivedAt, (known?.changedAt ?? -1) + 1)',
    put: 'return known ? receivedAt : Math.max(receivedAt, 0)',
  },
  {
    name: 'failing-alone-pauses-all',
    says: 'answers to other operations do not end a row of failures, so that one that fails alone pauses its whole group',
    group: 'limits',
    from: 'contract',
    file: 'src/engine/admission/circuit-breaker.ts',
    find: `        rows.clear()
        hasTripped = false`,
    put: `        if (hasTripped) rows.clear()
        hasTripped = false`,
  },
  {
    name: 'marked-room-reads-its-log-alone',
    says: 'of a room that somebody marks to be read again the log alone is',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/backfill.ts',
    find: 'from unnest(:streams::text[]) s(stream)\n',
    put: `from unnest(:streams::text[]) s(stream) where s.stream = 'room-events'\n`,
  },
]
