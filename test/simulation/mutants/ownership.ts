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
    find: 'where o.shard = p_shard and o.owner = p_owner and o.epoch = p_epoch and l.expires_at > ingest.clock()',
    put: 'where o.shard = p_shard',
  },
  {
    name: 'epoch-not-raised',
    says: 'a shard is taken over in the epoch of its former owner',
    group: 'ownership',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: 'update ingest.ownership o set owner = p_owner, epoch = o.epoch + 1',
    put: 'update ingest.ownership o set owner = p_owner, epoch = o.epoch',
  },
  {
    name: 'lease-taken-early',
    says: 'a shard is taken over while the lease of its owner lasts',
    group: 'ownership',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: 'l.expires_at <= ingest.clock() or',
    put: 'l.expires_at <= ingest.clock() + p_ttl or',
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
    find: 'await within(clock, settings.drainDeadline, Promise.all(this.#alive))',
    put: 'await within(clock, settings.drainDeadline, Promise.all([]))',
  },
  {
    name: 'living-owner-counted-dead',
    says: 'an owner whose session lives is taken for dead',
    group: 'ownership',
    from: 'code',
    file: 'migrations/0002-ingest.sql',
    find: `      where l.locktype = 'advisory' and l.granted and l.objsubid = 1`,
    put: `      where l.locktype = 'advisory' and l.granted and l.objsubid = 2`,
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
    find: '  where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share)`',
    put: '  where o.shard = :shard for share)`',
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
    find: `    if (health.state() === 'down') return
    for (const schedule`,
    put: `    if (health.state() === undefined) return
    for (const schedule`,
  },
]
