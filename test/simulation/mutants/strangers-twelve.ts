import type { Plant } from './plant.ts'

/** Bugs of a twelfth list, chosen from what the documents say before any code was read. */
export const strangersTwelve: readonly Plant[] = [
  {
    name: 'stale-is-stored',
    says: 'a page that is refused because its series was moved meanwhile counts as stored, and the reading goes on behind it',
    group: 'progress',
    from: 'contract',
    file: 'src/engine/series/sync.ts',
    find: "if (stored.outcome === 'stale') return { end: 'busy', ...found }",
    put: `if (stored.outcome === 'stale')
      Object.assign(stored, {
        ...{ outcome: 'committed', version: place.progress.version + 1 },
        ...{ stored: {}, diverged: 0, deadLetters: {} },
      })`,
  },
  {
    name: 'first-of-a-failed-group',
    says: 'when a group of pages fails the first of them is stored by itself, and the others count as stored',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/group-commits.ts',
    find: `      if (isBroken) line.alone = PAGES_ALONE
      return group.map(() => carefully)`,
    put: `      if (isBroken) line.alone = PAGES_ALONE
      return group.map(({ page }, n) =>
        n === 0
          ? carefully
          : { outcome: 'committed', version: page.version + 1, stored: {}, diverged: 0, deadLetters: {} },
      )`,
  },
  {
    name: 'former-owner-suspected-once',
    says: 'a process looks once in its life for answers of the feed that a former owner of an app left unread',
    group: 'ownership',
    from: 'contract',
    file: 'src/engine/series/feed.ts',
    find: '  let isSuspect = true\n',
    put: `  const names = lookedThrough.get(store) ?? new Set<string>()
  lookedThrough.set(store, names)
  let isSuspect = !names.has(\`\${app} \${series}\`)
  names.add(\`\${app} \${series}\`)
`,
    also: [
      {
        file: 'src/engine/series/feed.ts',
        find: '/** Begins suspicious: a process before this one may have been killed over an answer. */\n',
        put: 'const lookedThrough = new WeakMap<Store, Set<string>>()\n\n',
      },
    ],
  },
  {
    name: 'empty-answers-not-waited-for',
    says: 'a process that stops, or hands an app over, does not settle answers any more that told nothing',
    group: 'ownership',
    from: 'contract',
    file: 'src/engine/series/cursor-task.ts',
    find: 'const result = await store.commit(age ? { ...made, age } : made)',
    put: `const isEmpty = Object.values(made.rows).every(rows => rows.length === 0)
        if (isEmpty && context.signal.aborted) return { outcome: 'stale' }
        const result = await store.commit(age ? { ...made, age } : made)`,
  },
  {
    name: 'days-of-24-hours',
    says: 'every day of a time zone ends 24 hours after it began, also where clocks are changed',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0002-ingest.sql',
    find: 'select d.day, d.begins_at, lead(d.begins_at) over (order by d.day) as ends_at from day d',
    put: "select d.day, d.begins_at, d.begins_at + interval '24 hours' as ends_at from day d",
  },
  {
    name: 'losses-folded-over-what-was-read',
    says: 'old losses are folded into one row for each reason, from the first to the last of them, whatever days lie between',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: `case unit when 'sequence' then series end, incarnation,
                                       date_trunc('day', range_from, 'UTC'),
                                       date_trunc('day', range_to - interval '1 microsecond', 'UTC')) as place`,
    put: `case unit when 'sequence' then series end, incarnation) as place`,
  },
  {
    name: 'time-off-is-complete',
    says: 'what happened while a stream was switched off counts as complete once it is on again',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0006-classes-and-completeness.sql',
    find: 'return coalesce((select bool_and(p.covered + p.unasked @> v_range)',
    put: `return coalesce((select bool_and(p.covered + p.unasked + coalesce((
                                select o.off from ingest.stream_off_time o where o.app_id = p.app_id and o.stream = p.stream), '{}') @> v_range)`,
  },
  {
    name: 'filled-in-part-is-repaired',
    says: 'a hole of a log that is filled in part is repaired as a whole',
    group: 'classrooms',
    from: 'contract',
    file: 'src/postgres/commit/settled-by-log.ts',
    find: `      and h.sequence_from <= g.sequence_to and g.sequence_from <= h.sequence_to
      and not exists (select from hole s`,
    put: `      and h.sequence_from <= g.sequence_to and g.sequence_from <= h.sequence_to and false
      and not exists (select from hole s`,
    also: [
      {
        file: 'src/postgres/commit/settled-by-log.ts',
        find: `           ingest.clock()
    from hole h
`,
        put: `           ingest.clock()
    from hole h
    where not exists (
      select from ingest.gap k
      where k.app_id = :app and k.stream = :stream and k.series = :series and k.incarnation = :incarnation::int
        and k.unit = 'sequence' and k.sequence_from <= h.sequence_from and k.sequence_to >= h.sequence_to
        and (k.sequence_from, k.sequence_to) <> (h.sequence_from, h.sequence_to))
`,
      },
      {
        file: 'src/postgres/commit/settled-by-log.ts',
        find: 'and not exists (select from hole h where h.sequence_from <= o.sequence_to and o.sequence_from <= h.sequence_to)',
        put: 'and not exists (select from hole h where h.sequence_from = o.sequence_from and h.sequence_to = o.sequence_to)',
      },
    ],
  },
  {
    name: 'who-has-left-is-back',
    says: 'a stay that has ended goes on again when a slice of its call that is read later tells so',
    group: 'ranges',
    from: 'contract',
    file: 'src/tables/analytics.ts',
    find: "except: { finished: 'latch', left_at: 'final', speaker",
    put: 'except: { speaker',
  },
  {
    name: 'not-measured-is-zero',
    says: 'a value of a metric that is null is stored as 0',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/calls/session-metrics.ts',
    find: 'if (isTimed && parts?.value === null) continue',
    put: `if (isTimed && parts?.value === null) {
      at.push(second)
      value.push(0)
      continue
    }`,
  },
  {
    name: 'asked-wait-cut-to-our-own',
    says: 'a provider that says to stay away for longer than the daemon waits by itself is asked again after that',
    group: 'limits',
    from: 'contract',
    file: 'src/planning/retry.ts',
    find: 'return Math.max(grown * (1 + chance * (longestSpread - 1)), askedDelay(retryAfter ?? 0, chance))',
    put: `return Math.min(
    cap * longestSpread,
    Math.max(grown * (1 + chance * (longestSpread - 1)), askedDelay(retryAfter ?? 0, chance)),
  )`,
    also: [
      {
        file: 'src/engine/admission/retry-rules.ts',
        find: 'if (retryAfter !== undefined && row === 1) return askedDelay(retryAfter, chance)',
        put: 'if (retryAfter !== undefined && row === 1) return Math.min(rule.cap, askedDelay(retryAfter, chance))',
      },
    ],
  },
  {
    name: 'no-access-to-one-is-to-none',
    says: 'a service that the plan does not hold stops all limit groups of its app',
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
        put: `    if (!failure || failure.kind === 'no_access') this.#doorOf(app).observe(failure, sentAt)
    // A request that we gave up ourselves says nothing of the provider.
`,
      },
    ],
  },
]
