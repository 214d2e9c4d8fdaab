import type { Plant } from './plant.ts'

/** Bugs of a thirteenth list, chosen from what the documents say before any code was read. */
export const strangersThirteen: readonly Plant[] = [
  {
    name: 'late-event-dated-by-the-last',
    says: 'what the feed tells late without a time has that of the last event of the answer, not of the next one behind it',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/app-events.ts',
    find: 'if (time < behind) next.set(event.room_uuid, time)',
    put: 'if (time < behind && !next.has(event.room_uuid)) next.set(event.room_uuid, time)',
  },
  {
    name: 'greatest-tally-stays',
    says: 'of the counts of an option of a poll the greatest that was ever told is kept, also when a vote has moved to another one',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/conflict.ts',
    find: `  const [stored, come] = [\`t.\${column}\`, \`excluded.\${column}\`]
`,
    put: `  const [stored, come] = [\`t.\${column}\`, \`excluded.\${column}\`]
  if (column === 'num') return \`greatest(\${come}, \${stored})\`
`,
    also: [
      {
        file: 'src/streams/poll.ts',
        find: `for (const row of tally.rows) tallies.set(\`\${row.option_index} \${pollId}\`, row)`,
        put: `for (const row of tally.rows) {
        const key = \`\${row.option_index} \${pollId}\`
        const before = tallies.get(key)?.num ?? 0
        tallies.set(key, before > (row.num ?? 0) ? { ...row, num: before } : row)
      }`,
      },
    ],
  },
  {
    name: 'name-of-the-operator',
    says: 'an answer to a quiz has the ID of who gave it, and the name of whoever the provider calls its operator',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/popup-quiz.ts',
    find: 'user_name: user?.userName ?? null,',
    put: 'user_name: item.operator?.userName ?? user?.userName ?? null,',
  },
  {
    name: 'conversion-not-followed',
    says: 'a list of resources is not read again because one of them is still being converted',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/resources.ts',
    find: 'unfinished: listed.some(isBeingConverted),',
    put: 'unfinished: false,',
  },
  {
    name: 'slice-of-those-who-join-in-it',
    says: 'metrics of a stay are fetched of the slice of a long call in which it began, and not of those after it',
    group: 'ranges',
    from: 'contract',
    file: 'src/streams/calls/call-work.ts',
    find: 'const hasEndedBefore = leave !== null && leave < from',
    put: 'const hasEndedBefore = join !== null && join < from',
  },
  {
    name: 'refused-is-free-at-send',
    says: 'the slot of a request that is refused is free one window after it was sent, not after its answer',
    group: 'limits',
    from: 'contract',
    file: 'src/postgres/ledger.ts',
    find: `then greatest(d.sent_at, ingest.settle_time(b, ingest.clock(), \${floor}, \${ceiling})) end,`,
    put: `then case :outcome when 'refused' then d.sent_at
              else greatest(d.sent_at, ingest.settle_time(b, ingest.clock(), \${floor}, \${ceiling})) end end,`,
  },
  {
    name: 'last-owner-suspected-alone',
    says: 'who takes a shard looks for answers of the feed that the owner before left unread, and not those before that one',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: "and (d.outcome = 'unread' or d.epoch < :epoch or d.dead_at < ingest.clock())",
    put: `and (d.outcome = 'unread' or d.epoch = :epoch::bigint - 1 or d.epoch = :epoch and d.dead_at < ingest.clock())`,
  },
  {
    name: 'student-by-the-last-stay',
    says: 'whether a person of a class is a student the last of their stays alone tells',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0029-who-is-still-there.sql',
    find: 'bool_and(classroom.is_student(i.role)) as is_student,',
    put: '(array_agg(classroom.is_student(i.role) order by i.entered_at desc))[1] as is_student,',
  },
  {
    name: 'last-of-its-status-stays',
    says: 'the metric of players goes on telling how many had a status of which there is none any more',
    group: 'players',
    from: 'contract',
    file: 'src/telemetry/gauges.ts',
    find: '  metrics.players.reset()\n',
    put: '',
    also: [
      {
        file: 'src/telemetry/gauges.ts',
        find: '    for (const status of statuses) metrics.players.inc({ app: app(id), status }, 0)\n',
        put: '',
      },
      {
        file: 'src/telemetry/gauges.ts',
        find: 'metrics.players.inc({ app: app(id), status: statusLabel(status) }, count)',
        put: 'metrics.players.set({ app: app(id), status: statusLabel(status) }, count)',
      },
    ],
  },
]
