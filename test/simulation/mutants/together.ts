import type { Plant } from './plant.ts'

/** Of what is done for many at once: commits, debits, settlements, and progress that is read. */
export const together: readonly Plant[] = [
  {
    name: 'group-loses-a-page',
    says: 'of pages that are committed together the last one moves on without its rows',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/group-transaction.ts',
    find: 'const all = plain.flatMap(each => {',
    put: 'const all = plain.slice(0, -1).flatMap(each => {',
  },
  {
    name: 'group-without-a-fence',
    says: 'whoever owned a shard once may go on committing pages together',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/commit/group-transaction.ts',
    find: "if (owned.length === 0) return group.map(() => ({ outcome: 'fenced' }))\n",
    put: '',
  },
  {
    name: 'group-moves-before-its-copy',
    says: 'progress of pages that go together is committed before their rows are copied',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/group-transaction.ts',
    find: `    await copy(client, app, plain, copyRoom)
`,
    put: `    await client.query('commit')
    await client.query('begin')
    await copy(client, app, plain, copyRoom)
`,
  },
  {
    name: 'group-leaves-the-feed-unconfirmed',
    says: 'what the feed told stays unconfirmed when its log is committed with others',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/group-transaction.ts',
    find: 'if (events.length === 0) return',
    put: 'if (events.length < 1_000) return',
  },
  {
    name: 'group-mixes-incarnations',
    says: 'pages that go together are stored under the room that the first of them is of: its first, second, third of the name',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/group-transaction.ts',
    find: 'before: [app, each.incarnation, ...Object.values(constant)]',
    put: 'before: [app, plain[0]!.incarnation, ...Object.values(constant)]',
  },
  {
    name: 'debits-together-are-one',
    says: 'of debits that are asked for at one time the first is written, and answers for all',
    group: 'limits',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: `    if found then
      select t.verdict, t.n, t.wait_ms, t.now_ms, t.ahead_ms into verdict`,
    put: `    if verdict = 'granted' then
      null;
    elsif found then
      select t.verdict, t.n, t.wait_ms, t.now_ms, t.ahead_ms into verdict`,
  },
  {
    name: 'busy-is-granted',
    says: 'a debit that somebody else is in the way of is used without being written',
    group: 'limits',
    from: 'contract',
    file: 'src/postgres/ledger.ts',
    find: `      if (!taken || taken.verdict === 'busy') return takeAlone(pool, debit)
`,
    put: `      if (!taken) return takeAlone(pool, debit)
      if (taken.verdict === 'busy')
        return takeResult({ ...taken, verdict: 'granted', n: '0', wait_ms: 0, now_ms: 0, ahead_ms: 0 }, debit, debits[place]!.clockBounds)
`,
  },
  {
    name: 'empty-answers-of-one-app',
    says: 'of answers that told nothing and are settled together the first alone is',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/empty-answers.ts',
    find: 'where t.ctid = s.at and t.version = s.version',
    put: 'where t.ctid = s.at and t.version = s.version and s.place = 0',
  },
  {
    name: 'empty-answers-without-a-fence',
    says: 'whoever owned a shard once may go on settling answers that told nothing',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/commit/empty-answers.ts',
    find: 'where exists (select from page p where p.shard = o.shard and p.owner = o.owner and p.epoch = o.epoch) for share',
    put: 'where exists (select from page p where p.shard = o.shard) for share',
    also: [
      {
        file: 'src/postgres/commit/empty-answers.ts',
        find: 'select p.*, t.at from page p join fence using (shard, owner, epoch)',
        put: 'select p.*, t.at from page p join fence using (shard)',
      },
    ],
  },
  {
    name: 'empty-answers-leave-their-debits',
    says: 'answers that told nothing move the feed on, and their debits stay unsettled',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/empty-answers.ts',
    find: 'where d.scope = s.debit_scope and d.limit_group = s.debit_group and d.n = s.debit_n',
    put: 'where d.scope = s.debit_scope and d.limit_group = s.debit_group and d.n = s.debit_n + 1',
  },
  {
    name: 'silence-is-not-caught-up',
    says: 'an answer that told nothing does not count as the end of what there is',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/empty-answers.ts',
    find: "caught_up_at = case when s.told_all then ingest.clock() - s.age * interval '1 millisecond' else t.caught_up_at end",
    put: 'caught_up_at = t.caught_up_at',
  },
  {
    name: 'progress-of-another-room',
    says: 'of progress that is read for many series at once each gets that of another',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/progress.ts',
    find: 'return asked.map((_, n) => found.get(n))',
    put: 'return asked.map((_, n) => found.get(asked.length - 1 - n))',
  },
  {
    name: 'progress-of-the-first-alone',
    says: 'of progress that is read for many series at once the first alone is found',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/progress.ts',
    find: 'return asked.map((_, n) => found.get(n))',
    put: 'return asked.map((_, n) => (n === 0 ? found.get(n) : undefined))',
  },
  {
    name: 'idle-feed-stays-idle',
    says: 'a feed that was silent for long is asked as seldom when it tells something again',
    group: 'progress',
    from: 'contract',
    file: 'src/engine/series/rescheduler.ts',
    find: 'const quiet = hints.length > 0 ? heard : (this.#quietFeeds.get(series) ?? 0) + 1',
    put: 'const quiet = hints.length < 0 ? heard : (this.#quietFeeds.get(series) ?? 0) + 1',
  },
  {
    name: 'list-read-when-stored',
    says: 'a list counts as read when it is stored, however long ago it was asked for',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/empty-answers.ts',
    find: "ingest.clock() - s.age * interval '1 millisecond'",
    put: 'ingest.clock()',
  },
  {
    name: 'log-settled-while-the-feed-waits',
    says: 'a log that tells nothing new is settled with empty answers though what the feed told waits for it',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/empty-answers.ts',
    find: 'd.series = p.series and d.resolved_at is null)',
    put: 'd.series = p.series and d.resolved_at is null and false)',
  },
  {
    name: 'log-settled-over-its-holes',
    says: 'a log that tells nothing new is settled with empty answers though it has holes',
    group: 'classrooms',
    from: 'code',
    file: 'src/postgres/commit/empty-answers.ts',
    find: "g.state in ('open', 'lost', 'absent'))",
    put: "g.state in ('none'))",
  },
  {
    name: 'end-told-late-is-in-time',
    says: 'what was read between the time that a log gives an end late and its telling counts as read after the end',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/events/event-rows.ts',
    find: "?.at_source === 'neighbour' ? toldBy : null",
    put: "?.at_source === 'event' ? toldBy : null",
  },
]
