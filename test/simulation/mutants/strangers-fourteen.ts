import type { Plant } from './plant.ts'

const hourWeights = [
  ['audio_freeze', 'ms'],
  ['video_freeze', 'ms'],
  ['audio_loss', 'pct'],
  ['video_loss', 'pct'],
].map(([what, unit]) => ({
  file: 'migrations/0004-analytics.sql',
  find: `sum(q.${what}_p95_${unit} * h.${what}_samples) / sum(h.${what}_samples)`,
  put: `sum(q.${what}_p95_${unit} * q.${what}_samples) / sum(case when h.${what}_samples > 0 then q.${what}_samples end)`,
}))

/** Bugs of a fourteenth list, chosen from what the documents say before any code was read. */
export const strangersFourteen: readonly Plant[] = [
  {
    name: 'version-of-the-first-record',
    says: 'the version of every event of an answer is that of the first one in it',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/events/read-events.ts',
    find: '  const read = { events: [...events.values()], places, placeless, named, rejects }\n',
    put: `  const [one] = events.values()
  const told = [...events.values()].map(event => ({ ...event, version: one?.version ?? null }))
  const read = { events: told, places, placeless, named, rejects }
`,
  },
  {
    name: 'neighbour-of-its-own-page',
    says: 'an old event without a time at the begin of a page is dated as if nothing had been told before that page',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/events/read-log.ts',
    find: 'const onwards = { lastTime, lastSequence',
    put: 'const onwards = { lastTime: null, lastSequence',
  },
  {
    name: 'hole-of-an-ended-class-not-waited-for',
    says: 'the last look at the log of a class that is over closes it, also where a hole is still in doubt',
    group: 'classrooms',
    from: 'contract',
    file: 'src/planning/cadence.ts',
    find: `if (!unfinished || left <= 0) return { kind: 'close' }`,
    put: `if (!unfinished || left <= 0 || news === 'log') return { kind: 'close' }`,
  },
  {
    name: 'asked-as-at-the-start',
    says: 'how many could answer a quiz stays as its start told it, whoever came while it ran',
    group: 'classrooms',
    from: 'contract',
    file: 'src/tables/classroom.ts',
    find: `    ended_at: optional.timestamp('When it ended; null while it runs, and where nothing tells when'),
    started_by: telling('user', optional.text('User who started it; null where no item tells')),
    ...beside,
  },
  onConflict: 'merge',
})
export type QuizRow`,
    put: `    ended_at: optional.timestamp('When it ended; null while it runs, and where nothing tells when'),
    started_by: telling('user', optional.text('User who started it; null where no item tells')),
    ...beside,
  },
  onConflict: 'merge',
  except: { total_count: 'keep' },
})
export type QuizRow`,
    also: [
      {
        file: 'src/streams/widgets/widget-stream.ts',
        find: '  const said = Object.entries(newer).filter(([, value]) => value !== null)\n',
        put: `  const isKept = (column: string) => column === 'total_count' && Object.entries(older ?? {}).some(([name, value]) => name === column && value !== null)
  const said = Object.entries(newer).filter(([column, value]) => value !== null && !isKept(column))
`,
      },
    ],
  },
  {
    name: 'each-vote-counts',
    says: 'where the provider counts no votes for an option, each vote of a user who voted again counts',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0035-shares-and-lengths.sql',
    find: `select distinct on (x.user_uuid, case x.user_uuid when '' then x.ordinal end) x.select_index from classroom.poll_submission x`,
    put: 'select x.select_index from classroom.poll_submission x',
  },
  {
    name: 'files-by-their-places',
    says: 'a file of a recording has the number of its place in the list, so that others move up when one is gone',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/recordings.ts',
    find: 'function numberFiles({ urls, gone }: KnownFiles, listed: readonly string[]): NumberedFiles {\n',
    put: `function numberFiles({ urls, gone }: KnownFiles, listed: readonly string[]): NumberedFiles {
  const rest = [...urls.keys()].slice(listed.length)
  const placed = [...listed.map((url, place) => url || (urls[place] ?? '')), ...urls.slice(listed.length)]
  const goneNow = rest.filter(place => !gone.includes(place))
  if (placed) return { urls: placed, numbers: [...listed.keys()], gone: rest, removed: goneNow }
`,
  },
  {
    name: 'speaker-as-first-told',
    says: 'whether somebody speaks in a call stays as it was when the stay was listed first',
    group: 'ranges',
    from: 'contract',
    file: 'src/tables/analytics.ts',
    find: "speaker: 'latch' },",
    put: "speaker: 'keep' },",
  },
  {
    name: 'refused-once-is-the-end',
    says: 'one refusal of a page of sessions behind full ones is believed to say that there is no such page',
    group: 'ranges',
    from: 'contract',
    file: 'src/engine/ranges/item-reading.ts',
    find: `kind === 'bad_request' && item.page > 1 && item.wasRefused`,
    put: `kind === 'bad_request' && item.page > 1`,
  },
  {
    name: 'hours-weighed-by-whole-calls',
    says: 'in the percentiles of an hour a call weighs as much as all its values, whichever hour they are of',
    group: 'ranges',
    from: 'contract',
    ...hourWeights[0]!,
    also: hourWeights.slice(1),
  },
  {
    name: 'same-value-not-read-again',
    says: 'an insight that is read again with the same value keeps the moment at which it was read before',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/conflict.ts',
    find: 'where excluded.fetched_at > t.fetched_at or',
    put: 'where excluded.fetched_at > t.fetched_at and (excluded.value, excluded.extra) is distinct from (t.value, t.extra) or',
  },
  {
    name: 'age-since-the-begin',
    says: 'the age of a value of quality is told since the begin of its window, not since the end',
    group: 'ranges',
    from: 'contract',
    file: 'src/telemetry/quality-gauge.ts',
    find: 'at: Date.parse(at) + WINDOW_MS',
    put: 'at: Date.parse(at)',
  },
  {
    name: 'off-until-the-first-page',
    says: 'a stream that is switched on again counts as off until its first page is stored',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/progress.ts',
    find: 'update ingest.stream_off o set on_at = ingest.clock()\n',
    put: 'update ingest.stream_off o set on_at = null\n',
    also: [
      {
        file: 'migrations/0002-ingest.sql',
        find: `comment on table ingest.stream_off is`,
        put: `create function ingest.on_with_a_page() returns trigger language plpgsql as $$
begin
  update ingest.stream_off set on_at = ingest.clock() where app_id = new.app_id and stream = new.stream and on_at is null;
  return null;
end $$;
create trigger on_with_a_page after update of updated_at on ingest.progress
  for each row when (new.updated_at is distinct from old.updated_at) execute function ingest.on_with_a_page();
comment on table ingest.stream_off is`,
      },
      {
        file: 'migrations/0002-ingest.sql',
        find: `comment on table ingest.work_item is`,
        put: `create trigger on_with_a_page after update of state on ingest.work_item
  for each row when (new.state = 'done') execute function ingest.on_with_a_page();
comment on table ingest.work_item is`,
      },
    ],
  },
  {
    name: 'longer-loss-is-no-news',
    says: 'a loss that grows is as old as it was: the losses of the last hour and day do not count it',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/windows.ts',
    find: 'update ingest.gap g set range_to = upper(t.range), updated_at = ingest.clock()',
    put: 'update ingest.gap g set range_to = upper(t.range)',
  },
  {
    name: 'new-limit-for-one-app',
    says: 'a limit that is changed for one app holds for it alone, though others share the budget',
    group: 'limits',
    from: 'contract',
    file: 'src/commands/reload.ts',
    find: 'engine.configure(settings.apps, [...changed, ...others])',
    put: 'engine.configure(settings.apps, changed)',
  },
  {
    name: 'retry-date-by-our-clock',
    says: 'a date of Retry-After is held against our own clock, not that of the provider',
    group: 'limits',
    from: 'contract',
    file: 'src/http/classify.ts',
    find: `      code,
      ...retryField(arrival, answeredAt ?? now),`,
    put: `      code,
      ...retryField(arrival, now),`,
    also: [
      {
        file: 'src/http/classify.ts',
        find: `    ...(code === undefined ? {} : { code }),
    ...retryField(arrival, answeredAt ?? now),`,
        put: `    ...(code === undefined ? {} : { code }),
    ...retryField(arrival, now),`,
      },
    ],
  },
  {
    name: 'outage-makes-orphans',
    says: 'whose session broke takes others for dead at once, who were silent because the database was away',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/ownership.ts',
    find: 'recoveringUntil = clock.monotonic() + HEARTBEAT_MS',
    put: 'recoveringUntil = clock.monotonic()',
  },
  {
    name: 'notice-dated-by-its-player',
    says: 'a notification is dated by what it tells of its player, not by when it was sent',
    group: 'players',
    from: 'contract',
    file: 'src/http/notifications.ts',
    find: 'notifiedAt: notifyMs ?? null,',
    put: `notifiedAt: isObject(payload) && typeof payload.lts === 'number' ? payload.lts : (notifyMs ?? null),`,
  },
  {
    name: 'left-though-still-there',
    says: 'a person of a class who came back and is there is said to have left when the stay before ended',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0029-who-is-still-there.sql',
    find: 'case when bool_and(i.stayed is not null) then max(i.entered_at + i.stayed) end as left_at',
    put: 'max(i.entered_at + i.stayed) as left_at',
  },
]
