import type { Plant } from './plant.ts'

export const ownership: readonly Plant[] = [
  {
    name: 'no-epoch-in-commit',
    says: 'a commit does not ask who owns the shard',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/commit/ctes.ts',
    find: 'where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share',
    put: 'where o.shard = :shard for share',
  },
  {
    name: 'no-epoch-in-debit',
    says: 'a debit does not ask who owns the shard',
    group: 'ownership',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: 'where o.shard = p_shard and o.owner = p_owner and o.epoch = p_epoch',
    put: 'where o.shard = p_shard',
  },
  {
    name: 'epoch-not-raised',
    says: 'a shard is taken over in the epoch of its former owner',
    group: 'ownership',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: 'update ingest.ownership o set owner = p_owner, epoch = free.epoch',
    put: 'update ingest.ownership o set owner = p_owner, epoch = o.epoch',
  },
  {
    name: 'owns-without-the-queue',
    says: 'a process that was silent for too long takes shards for its own that the queue gave to others',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/ownership.ts',
    find: 'forget(mine.flatMap(({ shard }) => (kept.has(shard) ? [] : [shard])))',
    put: 'forget(mine.flatMap(({ shard }) => (kept.size >= 0 ? [] : [shard])))',
    // Whoever raises the fence is told by it too.
    also: [
      {
        file: 'src/postgres/ownership.ts',
        find: '      forget(late.map(({ shard }) => shard))\n',
        put: '',
      },
    ],
  },
  {
    name: 'slots-of-a-former-owner-free',
    says: 'requests of a former owner that were not answered take no place in a second or a minute',
    group: 'ownership',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: `where d.scope = p_scope and d.limit_group = p_group and least(d.settled_at, d.dead_at) > v_now - v_window
`,
    put: `where d.scope = p_scope and d.limit_group = p_group and least(d.settled_at, d.dead_at) > v_now - v_window
          and (d.epoch = p_epoch or d.settled_at is not null)
`,
  },
  {
    name: 'unsettled-debits-forgotten',
    says: 'answers of the feed that a former owner asked for and never stored are no gaps',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/gaps.ts',
    find: `and (d.outcome = 'unread' or d.epoch < :epoch or d.dead_at < ingest.clock())`,
    put: `and d.outcome = 'unread'`,
  },
  {
    name: 'lost-lease-works-on',
    says: 'a process goes on with the apps of a shard that another one has taken',
    group: 'ownership',
    from: 'contract',
    file: 'src/engine/supervisor.ts',
    find: `      if (held?.epoch === fence?.epoch) continue
`,
    put: `      if (held?.epoch === fence?.epoch || (held && !fence)) continue
`,
  },
  {
    name: 'handed-over-with-pages-in-hand',
    says: 'at a stop the shards are given back before the pages in hand are stored',
    group: 'ownership',
    from: 'contract',
    file: 'src/engine/supervisor.ts',
    find: 'await within(clock, settings.drainDeadline, Promise.all(this.#alive.keys()), undefined)',
    put: 'await within(clock, settings.drainDeadline, Promise.all([]), undefined)',
  },
  {
    name: 'handed-over-in-the-middle-of-a-page',
    says: 'a shard that another process should have is given back before the pages in hand of its apps are stored',
    group: 'ownership',
    from: 'contract',
    file: 'src/engine/supervisor.ts',
    find: 'void within(clock, settings.drainDeadline, Promise.all(ending), undefined)',
    put: 'void within(clock, settings.drainDeadline, Promise.all(ending.slice(0, 0)), undefined)',
  },
  {
    name: 'surplus-is-drained-on',
    says: 'a process goes on with the apps of a shard that it is about to give back',
    group: 'ownership',
    from: 'code',
    file: 'src/postgres/ownership.ts',
    find: 'fences: fenced.filter(({ shard }) => !surplus.has(shard)).map(fenceOf),',
    put: 'fences: fenced.map(fenceOf),',
  },
  {
    name: 'living-owner-counted-dead',
    says: 'an owner whose session lives is taken for dead',
    group: 'ownership',
    from: 'code',
    file: 'migrations/0002-ingest.sql',
    find: 'where o.owner <> p_owner and pg_try_advisory_xact_lock(hashtextextended(o.owner, 0))',
    put: 'where o.owner <> p_owner and pg_try_advisory_xact_lock(hashtextextended(o.owner, 1))',
  },
  {
    name: 'no-epoch-in-the-gap-ledger',
    says: 'what the feed may have handed out is set down by whoever asks',
    group: 'ownership',
    from: 'code',
    file: 'src/postgres/gaps.ts',
    find: `const owned = \`exists (select from ingest.ownership o
  where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share)\``,
    put: `const owned = \`exists (select from ingest.ownership o
  where o.shard = :shard for share)\``,
  },
  {
    name: 'no-epoch-in-the-work-queue',
    says: 'a process that owns the shard no more goes on to move items of the work queue',
    group: 'ownership',
    from: 'code',
    file: 'src/postgres/work-queue.ts',
    find: `and w.state = 'pending' and \${owned}\``,
    put: `and w.state = 'pending' and exists (select from ingest.ownership o where o.shard = :shard for share)\``,
  },
  {
    name: 'void-grant-is-used',
    says: 'a grant is used however long ago it was asked for',
    group: 'ownership',
    from: 'code',
    file: 'src/engine/admission/admission.ts',
    find: 'const GRANT_LIFE_MS = 2_000',
    put: 'const GRANT_LIFE_MS = 86_400_000',
  },
  {
    name: 'first-look-trusts-the-past',
    says: 'a process that begins does not look for answers that one before it left unread',
    group: 'ownership',
    from: 'code',
    file: 'src/engine/series/feed.ts',
    find: `  let isSuspect = true
`,
    put: `  let isSuspect = false
`,
  },
  {
    name: 'asks-while-the-database-is-away',
    says: 'rooms are asked about while nothing can be stored',
    group: 'ownership',
    from: 'code',
    file: 'src/engine/series/poller.ts',
    find: `    if (this.#context.health.state() === 'down') return
    for (const schedule`,
    put: `    if (this.#context.health.state() === undefined) return
    for (const schedule`,
    // Who reads first where he stands finds that out.
    also: [
      {
        file: 'src/engine/series/sync.ts',
        find: `    if (context.stream.kind === 'feed') tailMemory.stands.set(context.series, progress)`,
        put: '    tailMemory.stands.set(context.series, progress)',
      },
    ],
  },
  {
    name: 'fence-lowered',
    says: 'whoever comes late with an older number takes the shard back from its present owner',
    group: 'ownership',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: '          where f.epoch < t.epoch\n',
    put: '          where f.epoch <> t.epoch\n',
  },
  {
    name: 'second-turn-not-raised',
    says: 'a process that takes a shard again goes on in the epoch of its first turn',
    group: 'ownership',
    from: 'contract',
    file: 'src/postgres/ownership.ts',
    find: 'const missing = [...held.values()].filter(({ shard, epoch }) => known.get(shard) !== epoch)',
    put: 'const missing = [...held.values()].filter(({ shard }) => !known.has(shard))',
  },
]
