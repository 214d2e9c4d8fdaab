import type { Plant } from './plant.ts'

/** Bugs of a fourth list, which was made before any code was read; what older plants have already is not here again. */
export const strangersFour: readonly Plant[] = [
  {
    name: 'final-by-its-begin',
    says: 'a range of calls is final as a whole when its begin is as old as calls may come late',
    group: 'ranges',
    from: 'contract',
    file: 'src/planning/windows.ts',
    find: 'return between(from, Math.min(to, watermark(rules, readAt)))',
    put: `const until = watermark(rules, readAt)
  return between(from, rules.step === 1 && from < until ? to : Math.min(to, until))`,
  },
  {
    name: 'open-call-kept-at-its-end',
    says: 'a call that goes on keeps the second owed to which the search says that it has come, not the one in which it began',
    group: 'ranges',
    from: 'contract',
    file: 'src/streams/calls.ts',
    find: '...open.map(call => call.created_ts)',
    put: '...open.map(call => call.destroyed_ts || call.created_ts)',
  },
  {
    name: 'after-midnight-a-day-early',
    says: 'what was measured in a call after midnight is put by its time of day into the day of the first value',
    group: 'decoding',
    from: 'contract',
    file: 'src/postgres/commit/samples.ts',
    find: 'encodeJson((rows ?? []).flatMap(row => [...daysOf(inOrder(row))]))',
    put: `encodeJson(
    (rows ?? []).flatMap(row => {
      const day = Math.floor((row.at[0] ?? 0) / DAY) * DAY
      return [...daysOf(inOrder({ ...row, at: row.at.map(second => day + (second % DAY)) }))]
    }),
  )`,
  },
  {
    name: 'promised-values-by-their-number',
    says: 'a window is whole when as many entries came as values are promised, whatever times they are of',
    group: 'ranges',
    from: 'contract',
    file: 'src/engine/ranges/window-reading.ts',
    find: `return series.expects === 'each' && received ? withoutValue(range, series.step, received) : []`,
    put: `const isEnough = received !== undefined && received.length >= (range.to - range.from) / series.step
  return series.expects === 'each' && received && !isEnough
    ? withoutValue(range, series.step, received)
    : []`,
    also: [
      {
        file: 'src/streams/series/values.ts',
        find: 'else if (point.second < range.to) {',
        put: `else if (point.second === range.to) received.push(point.second)
    else {`,
      },
    ],
  },
  {
    name: 'one-number-said-drops-the-others',
    says: 'where an operator says one of the numbers of a limit group the documented others no longer hold',
    group: 'limits',
    from: 'contract',
    file: 'src/config/limits.ts',
    find: 'const requests = said[key] ?? documented.find(rate => rate.window === window)?.requests',
    put: `const isSaid = rateKeys.some(each => said[each] !== undefined)
    const published = isSaid ? undefined : documented.find(rate => rate.window === window)
    const requests = said[key] ?? published?.requests`,
  },
  {
    name: 'too-late-taken-for-too-old',
    says: 'a refusal because the end is too near has less asked of the past, and one because the begin is too old has the end kept further away',
    group: 'limits',
    from: 'contract',
    file: 'src/engine/ranges/learned-bounds.ts',
    find: `time_range_limit: 'start',
  latency_limit: 'end',`,
    put: `time_range_limit: 'end',
  latency_limit: 'start',`,
  },
  {
    name: 'feed-takes-back-the-log',
    says: 'an event that the feed tells once more after the log is again one of the feed, in its words',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/events.ts',
    find: `const feedFresh = \`\${trustedAsNew} and s.source is null\``,
    put: `const feedFresh = \`(\${trustedAsNew} and s.source is null
      or s.source = 'log' and s.cmd = e.cmd and s.event_time is not distinct from e.event_time)\``,
    also: [
      {
        file: 'src/postgres/commit/events.ts',
        find: `? 'do nothing'`,
        put: `? \`do update set data = excluded.data, extra = excluded.extra, source = 'feed'
         where t.source = 'log'\``,
      },
      {
        file: 'src/postgres/commit/events.ts',
        find: `\${verdict(writes, counted('true'))}`,
        put: `\${verdict(writes, counted('stored_source is null'))}`,
      },
    ],
  },
  {
    name: 'any-404-denies-a-room',
    says: 'a 404 without a code counts like the one that says that there is no such room',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/failures.ts',
    find: 'failure.code === classroomCodes.noRoom',
    put: '(failure.code ?? classroomCodes.noRoom) === classroomCodes.noRoom',
  },
  {
    name: 'quizzes-go-on-from-the-former-room',
    says: 'when a name is used for another room its log of quizzes is read on from where that of the former one was',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/events.ts',
    find: `and p.stream = any (:room_streams::text[]) and p.stream <> :stream
      and :opens::boolean and exists (select from moved)
    returning 1
  ), told_apart`,
    put: `and p.stream = any (:room_streams::text[]) and p.stream <> :stream and p.stream <> 'popup-quiz'
      and :opens::boolean and exists (select from moved)
    returning 1
  ), told_apart`,
  },
  {
    name: 'stayed-to-the-last-event',
    says: 'who was not seen leaving has stayed to the last event of the room, also where that is after the end of the class',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0032-told-once-and-whole.sql',
    find: 'coalesce(left_at, case when ended_at > at and (ended_at <= started_at) is not true then ended_at',
    put: 'coalesce(left_at, case when ended_at > at and (ended_at <= started_at) is not true then greatest(ended_at, last_event_at)',
  },
  {
    name: 'hand-outlives-its-person',
    says: 'a hand that is up, or a place on the stage, goes on when its person leaves the room',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0032-told-once-and-whole.sql',
    find: `from classroom.attendance a cross join (values ('stage'), ('hand')) w(what)`,
    put: `from classroom.attendance a cross join (select null where false) w(what)`,
  },
  {
    name: 'once-right-is-right',
    says: 'a student is right in a quiz when any of the answers was, not the last one',
    group: 'decoding',
    from: 'contract',
    file: 'migrations/0022-days-and-what-is-unread.sql',
    find: `select distinct on (x.user_uuid, case x.user_uuid when '' then x.ordinal end) x.is_correct from classroom.quiz_submission x`,
    put: 'select bool_or(x.is_correct) as is_correct from classroom.quiz_submission x',
    also: [
      {
        file: 'migrations/0022-days-and-what-is-unread.sql',
        find: `order by x.user_uuid, case x.user_uuid when '' then x.ordinal end, x.ordinal desc`,
        put: `group by x.user_uuid, case x.user_uuid when '' then x.ordinal end`,
      },
    ],
  },
  {
    name: 'share-of-all-votes',
    says: 'the share of an option of a poll is that of all votes, not of those who voted',
    group: 'decoding',
    from: 'contract',
    file: 'migrations/0035-shares-and-lengths.sql',
    find: 'coalesce(o.percentage, coalesce(o.num, o.chosen)::double precision / nullif(o.voters, 0), case when coalesce(o.num, o.chosen) = 0 and o.told > 0 then 0 end) as share',
    put: `coalesce(o.num, o.chosen)::double precision
           / nullif(sum(coalesce(o.num, o.chosen)) over (partition by p.app_id, p.room_uuid, p.incarnation, p.poll_id), 0) as share`,
  },
  {
    name: 'thin-entry-begins-anew',
    says: 'an entry that tells no status makes the next one that does a change',
    group: 'players',
    from: 'contract',
    file: 'src/streams/parts/known-players.ts',
    find: 'status: status ?? kept,',
    put: 'status: status ?? null,',
    also: [
      {
        file: 'src/postgres/commit/lists.ts',
        find: 'coalesce(d.from_status, p.status)',
        put: 'd.from_status',
      },
      {
        file: 'src/postgres/commit/lists.ts',
        find: 'where exists (select from moved) and d.to_status is distinct from p.status',
        put: 'where exists (select from moved)',
      },
    ],
  },
  {
    name: 'player-beside-a-call-is-an-orphan',
    says: 'a player in a channel with a call that goes on counts as watched by nobody where there is no class',
    group: 'players',
    from: 'contract',
    file: 'migrations/0005-players.sql',
    find: 'where c.app_id = p.app_id and c.cname = p.channel_name and c.finished is not true',
    put: 'where c.app_id = p.app_id and c.cname = p.channel_name and false',
  },
  {
    name: 'feed-gap-on-a-day-of-utc',
    says: 'what the feed lost is looked for in the day of UTC, not in that of the app',
    group: 'ranges',
    from: 'contract',
    file: 'migrations/0030-ends-told-late.sql',
    find: 'and g.range_from < t.ends_at and g.range_to > t.begins_at',
    put: `and g.range_from < case t.stream when 'app-events' then (t.day + 1)::timestamp at time zone 'UTC' else t.ends_at end
          and g.range_to > case t.stream when 'app-events' then t.day::timestamp at time zone 'UTC' else t.begins_at end`,
  },
  {
    name: 'loss-dated-to-its-first-sight',
    says: 'a loss is as recent as the first sight of its gap, however long that was open before it was given up',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/status.ts',
    find: `count(*) filter (where updated_at > (select ingest.clock()) - interval '1 hour')`,
    put: `count(*) filter (where first_seen_at > (select ingest.clock()) - interval '1 hour')`,
    also: [
      {
        file: 'src/postgres/status.ts',
        find: `.where('updated_at', '>', sql<Date>\`(select ingest.clock()) - interval '1 day'\`)`,
        put: `.where('first_seen_at', '>', sql<Date>\`(select ingest.clock()) - interval '1 day'\`)`,
      },
    ],
  },
]
