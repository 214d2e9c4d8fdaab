import type { Plant } from './plant.ts'

/**
 * Bugs of a ninth list, chosen from what the documents say before any code was read; the last ten of them by one who knew the
 * names of the plants before, so that none of those would be named again.
 */
export const strangersNine: readonly Plant[] = [
  {
    name: 'overtaken-once-is-not-stale',
    says: 'a page is committed against the version that is stored when it is tried again, not against the one it was planned with',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/ctes.ts',
    find: `and p.series = :series and p.version = :version
      and exists (select from fence) and \${condition}`,
    put: `and p.series = :series and p.version in (:version::bigint, :version::bigint + 1)
      and exists (select from fence) and \${condition}`,
  },
  {
    name: 'day-of-24-hours',
    says: 'each day ends 24 hours after it begins, also where clocks are changed',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: 'lead(d.begins_at) over (order by d.day) as ends_at',
    put: `d.begins_at + interval '24 hours' as ends_at`,
  },
  {
    name: 'hole-repaired-by-a-part',
    says: 'a hole in a log is repaired when a part of it was told',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/settled-by-log.ts',
    find: 'as h("from" bigint, "to" bigint, state text) where exists (select from moved)',
    put: `as h("from" bigint, "to" bigint, state text) where exists (select from moved)
      and not exists (
        select from ingest.gap g
        where g.app_id = :app and g.stream = :stream and g.series = :series and g.incarnation = :incarnation::int
          and g.unit = 'sequence' and g.sequence_from <= h."from" and h."to" <= g.sequence_to
          and (g.sequence_from, g.sequence_to) <> (h."from", h."to"))`,
  },
  {
    name: 'off-for-good',
    says: 'a stream that is switched on again counts as off from then on too',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/progress.ts',
    find: 'o.stream = any (:on::text[]) and o.on_at is null and',
    put: 'o.stream = any (:on::text[]) and o.on_at is null and false and',
  },
  {
    name: 'heard-though-not-stored',
    says: 'what the feed tells once more is left out though it could not be stored when it was told',
    group: 'classrooms',
    from: 'contract',
    file: 'src/engine/series/feed.ts',
    find: `          stored = new Map()
          return () => {
            stored = told
          }`,
    put: `          stored = told
          return () => {}`,
  },
  {
    name: 'unasked-is-lost',
    says: 'the time in which a channel was not asked about is lost when it can no longer be had',
    group: 'ranges',
    from: 'contract',
    file: 'src/postgres/windows.ts',
    find: 'e.edge)) - p.covered - p.lost - p.unasked as passed,',
    put: 'e.edge)) - p.covered - p.lost as passed,',
  },
  {
    name: 'shared-number-linked',
    says: 'of several users of a class that have the number of a stay each is said to have been in the call',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0037-classes-one-after-another.sql',
    find: 'p.uid is not null and min(p.user_uuid) over (partition by p.uid) <> max(p.user_uuid) over (partition by p.uid) as is_shared',
    put: 'false as is_shared',
  },
  {
    name: 'class-from-its-first-event',
    says: 'a call that begins a few minutes before the first event of the room belongs to no class',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0037-classes-one-after-another.sql',
    find: `and c.created_at >= r.valid_from - interval '15 minutes'`,
    put: 'and c.created_at >= r.valid_from',
  },
  {
    name: 'emptied-before-it-is-kept',
    says: 'the rooms of a day are emptied though who came on it is not kept yet',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: 'where d.begins_at < $1 and not d.is_kept',
    put: 'where d.begins_at < $1 and not d.is_kept and false',
  },
  {
    name: 'intent-after-the-answer',
    says: 'that a player is to be made is written down after the answer, not before the request',
    group: 'players',
    from: 'contract',
    file: 'src/client/create-player.ts',
    find: `    await intents.attempt(this.#intent)
    try {
      const answer = (await ask(operation, this.#given)) as CreateAnswer`,
    put: `    try {
      const answer = (await ask(operation, this.#given).finally(() =>
        intents.attempt(this.#intent),
      )) as CreateAnswer`,
  },
  {
    name: 'clock-set-back-stops',
    says: `when the database's clock is set back, requests wait until it has come as far as it was`,
    group: 'limits',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: `    when p_ceiling < head.last_sent_at then head.last_sent_at + greatest(p_clock - head.clock_at, interval '0')
`,
    put: `    when p_ceiling < head.last_sent_at then head.last_sent_at + greatest(p_clock - head.clock_at, interval '0')
    when p_clock < p_floor then greatest(head.last_sent_at, p_clock)
`,
  },
  {
    name: 'first-name-goes-first',
    says: 'of the apps that wait for a budget the one with the first name goes first, whatever it had before',
    group: 'limits',
    from: 'contract',
    file: 'src/planning/stands.ts',
    find: 'one.asApp < other.asApp : one.asSeries < other.asSeries',
    put: 'one.asApp < other.asApp : one.app < other.app',
  },
  {
    name: 'selection-drops-what-was-asked-for',
    says: 'a selection that is made narrower leaves out calls too that were asked for before',
    group: 'ranges',
    from: 'contract',
    file: 'src/postgres/commit/ctes.ts',
    find: `const stillLeftOut = \`(excluded.left_out and w.left_out and w.state = 'done')\``,
    put: 'const stillLeftOut = `excluded.left_out`',
    also: [
      {
        file: 'src/postgres/commit/ctes.ts',
        find: 'where excluded.ask is distinct from w.ask or w.left_out and not excluded.left_out',
        put: 'where excluded.ask is distinct from w.ask or w.left_out <> excluded.left_out',
      },
    ],
  },
  {
    name: 'unread-call-without-users',
    says: 'a call of which nothing was read yet had no users',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0027-calls-left-out.sql',
    find: `         case when s.sessions > 0 or k.is_known then s.users end as users,`,
    put: `         s.users,`,
  },
]
