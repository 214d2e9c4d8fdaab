import type { Plant } from './plant.ts'

/** Bugs of an eleventh list, chosen from what the documents say before any code was read. */
export const strangersEleven: readonly Plant[] = [
  {
    name: 'fence-of-the-first-answer',
    says: 'answers that told nothing and are settled together are all settled where the shard of the first of them is owned',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/commit/empty-answers.ts',
    find: 'where exists (select from page p where p.shard = o.shard and p.owner = o.owner and p.epoch = o.epoch) for share',
    put: `where exists (select from page p where p.place = 0 and p.shard = o.shard and p.owner = o.owner and p.epoch = o.epoch)
    for share`,
    also: [
      {
        file: 'src/postgres/commit/empty-answers.ts',
        find: 'select p.*, t.at from page p join fence using (shard, owner, epoch)',
        put: 'select p.*, t.at from page p join fence on true',
      },
    ],
  },
  {
    name: 'gap-on-its-first-day-alone',
    says: 'a gap that reaches over midnight spoils the day in which it begins alone',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0030-ends-told-late.sql',
    find: 'and g.range_from < t.ends_at and g.range_to > t.begins_at',
    put: 'and g.range_from < t.ends_at and g.range_from >= t.begins_at',
  },
  {
    name: 'final-when-it-is-stored',
    says: 'whether a range is final is judged by when its page is stored, not by when it was asked about',
    group: 'ranges',
    from: 'contract',
    file: 'src/engine/ranges/window-reading.ts',
    find: 'commit: (_, pageResult, grant) => store.commitWindow(windowCommit(context, reading, pageResult, grant)),',
    put: `commit: (_, pageResult, grant) =>
      store.commitWindow(windowCommit(context, { ...reading, plannedAt: now() }, pageResult, grant)),`,
    also: [
      {
        file: 'src/engine/ranges/window-reading.ts',
        find: 'const result = await poll(context, windowTask(context, reading, { life, isOutdated }))',
        put: 'const result = await poll(context, windowTask(context, reading, { life, isOutdated, now: rules.now }))',
      },
      {
        file: 'src/engine/ranges/window-reading.ts',
        find: '  { life, isOutdated }: Waiting,',
        put: '  { life, isOutdated, now }: Waiting,',
      },
      {
        file: 'src/engine/ranges/window-reading.ts',
        find: '  readonly isOutdated: () => boolean\n}',
        put: '  readonly isOutdated: () => boolean\n  readonly now: () => number\n}',
      },
    ],
  },
  {
    name: 'feed-gap-closed-without-ended-classes',
    says: 'the gap of a lost answer of the feed waits for the logs of the rooms whose class goes on alone',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: `           and (p.stream = 'room-events' or`,
    put: `           and (p.stream = 'room-events' and exists (
               select from classroom.room r
               where r.app_id = p.app_id and r.room_uuid = p.series and r.valid_to is null and r.ended_at is null) or`,
  },
  {
    name: 'unseen-end-is-no-loss',
    says: 'of a room that is gone what nobody had read is set down as lost where the end of its class was seen alone',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: 'where not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false)\n      and',
    put: `where r.ended_at is not null and not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false)
      and`,
  },
  {
    name: 'users-of-a-call-by-stays',
    says: 'who left a call and came back is two users of it',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0027-calls-left-out.sql',
    find: `select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at)`,
    put: `select count(coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at)`,
  },
  {
    name: 'own-rate-on-a-shared-key',
    says: 'of apps with different plans on one key each is debited by the rates of its own plan',
    group: 'limits',
    from: 'contract',
    file: 'src/commands/wiring/counters.ts',
    find: 'return strictest([...own, ...others.flatMap(([, rates]) => rates)])',
    put: 'return others.length >= 0 ? own : strictest(own)',
  },
  {
    name: 'healed-outage-remembered',
    says: 'after an outage that is over the next single failure pauses for as long as the last one of the outage',
    group: 'limits',
    from: 'contract',
    file: 'src/engine/admission/circuit-breaker.ts',
    find: `        rows.clear()
        hasTripped = false`,
    put: `        for (const [rule, row] of rows) if (row < 3) rows.delete(rule)
        hasTripped = false`,
  },
  {
    name: 'rate-of-one-group-pauses-the-app',
    says: 'a 429 to one limit group pauses all groups of its app',
    group: 'limits',
    from: 'contract',
    file: 'src/engine/admission/admission.ts',
    find: '      const permits = await pass(group.breaker, appBreaker, door, waiting.signal)\n',
    put: `      const leave = await this.#doorOf(app).pass(waiting.signal)
      const permits = await pass(group.breaker, appBreaker, door, waiting.signal)
`,
    also: [
      {
        file: 'src/engine/admission/admission.ts',
        find: '        permits.leave()\n',
        put: '        permits.leave()\n        leave.leave()\n',
      },
      {
        file: 'src/engine/admission/admission.ts',
        find: '    // A request that we gave up ourselves says nothing of the provider.\n',
        put: `    if (!failure || failure.kind === 'rate_limited') this.#doorOf(app).observe(failure, sentAt)
    // A request that we gave up ourselves says nothing of the provider.
`,
      },
    ],
  },
  {
    name: 'open-question-of-the-former-room',
    says: 'when a name is used for another room its other streams are read from their beginning with what they remember of the former one',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/events.ts',
    find: `set version = p.version + 1, cursor = null, stream_state = jsonb_build_object('incarnation', :incarnation::int),`,
    put: `set version = p.version + 1, cursor = null,
        stream_state = coalesce(p.stream_state, '{}') || jsonb_build_object('incarnation', :incarnation::int),`,
  },
]
