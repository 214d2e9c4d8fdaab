import type { Plant } from './plant.ts'

/** Bugs of a second visitor: seven from a list made before any code or plant was read, three of its reserve, five after the names of plants, nine with code in view. */
export const visitors: readonly Plant[] = [
  {
    name: 'gone-log-counts-as-read',
    says: 'a room whose log is gone while it was read in part counts as read to its end',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: `update ingest.progress p set closed_at = coalesce(p.closed_at, ingest.clock()), wanted = '{}'
     where p.app_id = :app and p.series = :room`,
    put: `update ingest.progress p set closed_at = coalesce(p.closed_at, ingest.clock()), wanted = '{}', caught_up_at = ingest.clock()
     where p.app_id = :app and p.series = :room`,
  },
  {
    name: 'closed-is-no-end',
    says: 'a class that is closed without having been ended before has no end',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/room-life.ts',
    find: 'min(c.at) filter (where c.state in (2, 3) and c.sequence > c.begun)',
    put: 'min(c.at) filter (where c.state = 2 and c.sequence > c.begun)',
    also: [
      {
        file: 'src/streams/events/event-rows.ts',
        find: 'return ends.findLast(({ state }) => state === roomStates.ended) ?? ends.at(-1)',
        put: 'return ends.findLast(({ state }) => state === roomStates.ended)',
      },
    ],
  },
  {
    name: 'same-words-are-one-message',
    says: 'of messages that a user sends in the same words the first of a page alone is stored',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/events/event-rows.ts',
    find: '  const raw = placed.map(event => rawRow(event, received_at))',
    put: `  const words = (row: object) => {
    const { room_uuid, user_uuid, message } = row as { room_uuid: string; user_uuid: string | null; message: string | null }
    return JSON.stringify([room_uuid, user_uuid, message])
  }
  const chat = derived['classroom.chat_message'] ?? []
  const said = chat.map(words)
  Object.assign(derived, { 'classroom.chat_message': chat.filter((_, n) => said.indexOf(said[n]!) === n) })
  const raw = placed.map(event => rawRow(event, received_at))`,
  },
  {
    name: 'stop-of-the-first-recording',
    says: 'of several recordings of a room the first one is the one that each stop stops',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/events/states.ts',
    find: 'if (change.state === recordingStates.started) recordId = change.record_id',
    put: 'if (change.state === recordingStates.started) recordId ??= change.record_id',
  },
  {
    name: 'feed-of-a-gone-room-thrown-away',
    says: 'what the feed alone told of a room goes when the provider no longer knows the room',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: `  ), closed as (
     update ingest.progress p set closed_at`,
    put: `  ), untold as (
     delete from classroom.room_event e using gone
     where e.app_id = :app and e.room_uuid = :room and e.incarnation = gone.incarnation and e.source = 'feed'
  ), closed as (
     update ingest.progress p set closed_at`,
  },
  {
    name: 'one-bad-record-spoils-the-answer',
    says: 'of an answer of the feed nothing is stored where one of its records cannot be read',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/app-events.ts',
    find: 'const { events, places, placeless, named, rejects } = readEvents(page.items)',
    put: `const { events: readable, places, placeless, named, rejects } = readEvents(page.items)
  const events = rejects.length > 0 ? [] : readable`,
  },
  {
    name: 'vote-for-one-option',
    says: 'of a vote for several options the first alone is stored',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/poll.ts',
    find: 'select_index: value.selectIndex ?? null,',
    put: 'select_index: value.selectIndex?.slice(0, 1) ?? null,',
  },
  {
    name: 'tallies-add-up',
    says: 'each summary of a poll is added to the one before it on its page',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/poll.ts',
    find: `for (const row of tally.rows) tallies.set(\`\${row.option_index} \${pollId}\`, row)`,
    put: `for (const row of tally.rows) {
        const key = \`\${row.option_index} \${pollId}\`
        tallies.set(key, { ...row, num: (tallies.get(key)?.num ?? 0) + (row.num ?? 0) })
      }`,
  },
  {
    name: 'uploaded-again-stays-removed',
    says: 'a resource that is listed again after it had been removed stays removed',
    group: 'classrooms',
    from: 'contract',
    file: 'src/tables/classroom.ts',
    find: `except: { removed_at: 'replace' },`,
    put: `except: { removed_at: 'merge' },`,
  },
  {
    name: 'first-deletion-only',
    says: 'of resources that are deleted together the first alone is said to be',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/events/states.ts',
    find: `'classroom.resource_change': good.map(({ value, raw, ordinal }) => ({`,
    put: `'classroom.resource_change': (actionOf(action) === 'delete' ? good.slice(0, 1) : good).map(({ value, raw, ordinal }) => ({`,
  },
  {
    name: 'one-call-a-channel',
    says: 'of the calls of a channel on one page of the search the last alone is kept',
    group: 'ranges',
    from: 'contract',
    file: 'src/streams/calls.ts',
    find: 'const listed = lastOfEach(good, ({ value }) => value.call_id)',
    put: 'const listed = lastOfEach(good, ({ value }) => value.cname || value.call_id)',
  },
  {
    name: 'call-of-the-latest-class',
    says: 'a call belongs to the latest room of the name of its channel, whenever it began',
    group: 'ranges',
    from: 'contract',
    file: 'migrations/0037-classes-one-after-another.sql',
    find: `    and c.created_at >= r.valid_from - interval '15 minutes'
    and c.created_at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    and c.created_at < coalesce(greatest(r.ended_at, r.ended_by), case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end,
                                'infinity') + interval '1 hour'
  where not exists (select from classroom.room b
                    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
                      and c.created_at < coalesce(b.valid_to, 'infinity') - interval '1 minute'
                      and c.created_at < coalesce(greatest(b.ended_at, b.ended_by), b.last_event_at, 'infinity') + interval '1 hour');`,
    put: `  where not exists (select from classroom.room b
                    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation > r.incarnation);`,
  },
  {
    name: 'first-page-of-a-call',
    says: 'of the sessions of a call the first page alone is read',
    group: 'ranges',
    from: 'contract',
    file: 'src/streams/call-sessions.ts',
    find: 'const isOver = isRepeated || !mayBeFollowed(page)',
    put: 'const isOver = true',
    also: [
      {
        file: 'src/streams/call-sessions.ts',
        find: 'const lacking = leavesOut(page) ? [] : lackOf(total, count)',
        put: 'const lacking = [] as ReturnType<typeof lackOf>',
      },
    ],
  },
  {
    name: 'uid-with-a-sign',
    says: 'a user ID above 2^31 of a session is stored below 0',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/call-sessions.ts',
    find: 'uid: asText(value.uid),\n    network',
    put: `uid: typeof value.uid === 'number' && value.uid < 2 ** 32 ? String(value.uid | 0) : asText(value.uid),
    network`,
  },
  {
    name: 'stay-never-updated',
    says: 'a stay keeps what was first told of its end',
    group: 'ranges',
    from: 'contract',
    file: 'src/tables/analytics.ts',
    find: `except: { finished: 'latch', left_at: 'final', `,
    put: `except: { finished: 'latch', left_at: 'keep', `,
  },
  {
    name: 'last-window-taken-as-told',
    says: 'a real-time answer without the last window that was asked for counts as whole',
    group: 'ranges',
    from: 'contract',
    file: 'src/engine/ranges/window-reading.ts',
    find: `return series.expects === 'each' && received ? withoutValue(range, series.step, received) : []`,
    put: `const told = series.step === 20 ? { ...range, to: range.to - series.step } : range
  return series.expects === 'each' && received ? withoutValue(told, series.step, received) : []`,
  },
  {
    name: 'eleventh-user',
    says: 'of more users than fit into a real-time question those of the first question alone are asked for',
    group: 'ranges',
    from: 'contract',
    file: 'src/streams/realtime-quality.ts',
    find: 'maxima.uids).map(some => some.join())',
    put: 'maxima.uids).slice(0, 1).map(some => some.join())',
  },
  {
    name: 'day-at-noon',
    says: 'the value of a day is dated to noon, as if that were 12 am',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/series/values.ts',
    find: 'values.push({ uid, at: timestamp(second * 1_000)!, value, extra })',
    put: `const noon = range.to - range.from >= 86_400 && second % 86_400 === 0 && isOfDays ? 43_200 : 0
      values.push({ uid, at: timestamp((second + noon) * 1_000)!, value, extra })`,
    also: [
      {
        file: 'src/streams/series/values.ts',
        find: `function collect(entries: readonly Entry[], { range }: WindowPage): Values {`,
        put: `function collect(entries: readonly Entry[], { range, series }: WindowPage): Values {
  const isOfDays = series.step === 86_400`,
      },
    ],
  },
  {
    name: 'code-behind-a-status-unread',
    says: 'of a refusal of call analytics the HTTP status alone is read, not its code and message',
    group: 'limits',
    from: 'contract',
    file: 'src/http/classify.ts',
    find: 'return kindOfCode(operation, code, body) ?? ofStatus',
    put: 'return status === 300 ? (kindOfCode(operation, code, body) ?? ofStatus) : ofStatus',
  },
  {
    name: 'quota-is-a-rate',
    says: 'a refusal because there are too many players counts as one request too many a second',
    group: 'limits',
    from: 'contract',
    file: 'src/http/classify.ts',
    find: `const kind = isOfQuota(operation, arrival) ? 'quota' : kindBehindStatus(operation, status, code, body)`,
    put: `const kind = isOfQuota(operation, arrival) && status !== 429 ? 'quota' : kindBehindStatus(operation, status, code, body)`,
  },
  {
    name: 'players-without-a-name-are-one',
    says: 'players of one list are told apart by their names, so that those without one are one',
    group: 'players',
    from: 'contract',
    file: 'src/streams/cloud-players.ts',
    find: 'const before = byId.get(value.id)\n    byId.set(value.id, {',
    put: `const before = byId.get(value.name ?? '')
    byId.set(value.name ?? '', {`,
  },
  {
    name: 'failed-is-destroyed',
    says: 'a player that cannot play its stream counts as destroyed',
    group: 'players',
    from: 'contract',
    file: 'src/streams/cloud-players.ts',
    find: `last_seen_at: arrivalTime(page),
    destroyed_at: null,`,
    put: `last_seen_at: arrivalTime(page),
    destroyed_at: value.status === 'failed' ? arrivalTime(page) : null,`,
  },
  {
    name: 'lag-of-apps-given-away',
    says: 'a process goes on telling how late an app is that another one drains by now',
    group: 'ownership',
    from: 'contract',
    file: 'src/telemetry/gauges.ts',
    find: 'for (const told of [this.#late, this.#backlog, this.#losses]) told.forget(app)',
    put: 'for (const told of [this.#backlog, this.#losses]) told.forget(app)',
  },
  {
    name: 'answer-in-hand-at-a-stop',
    says: 'an answer that comes while the process is being stopped is not stored',
    group: 'ownership',
    from: 'contract',
    file: 'src/engine/poll-page.ts',
    find: '  const { page, whole, grant, release } = reading\n',
    put: `  const { page, whole, grant, release } = reading
  if (context.signal.aborted) {
    release()
    return { outcome: 'stopped' }
  }
`,
  },
]
