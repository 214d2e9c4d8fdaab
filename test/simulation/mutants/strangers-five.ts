import type { Plant } from './plant.ts'

/** Bugs of a fifth list, which was made before any code was read; what older plants have already is not here again. */
export const strangersFive: readonly Plant[] = [
  {
    name: 'leaving-unread-beside-entering',
    says: 'where an event tells of some who enter and of others who leave, those who leave are not read',
    group: 'decoding',
    from: 'contract',
    file: 'src/streams/events/people.ts',
    find: `judgeEach(Person, value.offlineUsers ?? [], 'data.offlineUsers', onlineUsers.length)`,
    put: `judgeEach(
    Person,
    onlineUsers.length > 0 ? [] : (value.offlineUsers ?? []),
    'data.offlineUsers',
    onlineUsers.length,
  )`,
  },
  {
    name: 'tally-added-to-what-is-stored',
    says: 'the votes for an option are added to those that are stored',
    group: 'decoding',
    from: 'contract',
    file: 'src/postgres/commit/conflict.ts',
    find: 'const value = instead[column] ?? newValue(column, table.except[column] ?? table.onConflict)',
    put: `const value =
        column === 'num'
          ? 't.num + excluded.num'
          : (instead[column] ?? newValue(column, table.except[column] ?? table.onConflict))`,
  },
  {
    name: 'first-answer-decides',
    says: 'whether a student was right in a quiz the first answer decides, not the last one',
    group: 'decoding',
    from: 'contract',
    file: 'migrations/0022-days-and-what-is-unread.sql',
    find: `order by x.user_uuid, case x.user_uuid when '' then x.ordinal end, x.ordinal desc`,
    put: `order by x.user_uuid, case x.user_uuid when '' then x.ordinal end, x.ordinal`,
  },
  {
    name: 'class-on-a-day-of-utc',
    says: 'the day of a class is that of UTC, whatever time zone the app is in',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0031-files-of-the-log.sql',
    find: 'r.region, d.day,',
    put: `r.region, (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date as day,`,
  },
  {
    name: 'secrets-of-a-notice-kept',
    says: 'what a notification holds is stored as it came, its token and the secrets in addresses too',
    group: 'players',
    from: 'contract',
    file: 'src/http/notifications.ts',
    find: `payload: maskSecrets(payload, 'in addresses too') as Json,`,
    put: 'payload: payload as Json,',
  },
  {
    name: 'further-pages-of-players-cost-nothing',
    says: 'of a list of players in pages the first alone is debited',
    group: 'limits',
    from: 'contract',
    file: 'src/engine/admission/admission.ts',
    find: `if (attempt.limit.counted === 'process') {
      if (this.#isStale(attempt, waiting))`,
    put: `if (attempt.limit.counted === 'process' || attempt.request.target.includes('pageToken')) {
      if (this.#isStale(attempt, waiting))`,
  },
  {
    name: 'losses-end-with-their-proof',
    says: 'losses that are 400 days old are taken away, as what was never served is',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: `[removal('ingest.gap', 'updated_at', \`t.state = 'absent'\`), DONE_MS]`,
    put: `[removal('ingest.gap', 'updated_at', \`t.state in ('absent', 'lost')\`), DONE_MS]`,
  },
  {
    name: 'raw-events-tell-on',
    says: 'who is forgotten is masked in columns, and not inside the data of events',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/mask.ts',
    find: `else if (type === 'jsonb') {`,
    put: `else if (type === 'jsonb' && table !== roomEvent) {`,
  },
  {
    name: 'names-kept-in-widgets',
    says: 'where no names are kept those in items of quizzes and polls are',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/unkept.ts',
    find: `if (this.isNothing) return row
    const inClass`,
    put: `if (this.isNothing || table.name === 'classroom.widget_event') return row
    const inClass`,
  },
  {
    name: 'letters-close-unread',
    says: 'a replay closes letters that it still cannot read',
    group: 'keeping',
    from: 'contract',
    file: 'src/commands/replay/dead-letters.ts',
    find: `else if (await this.#store(letter)) this.#raw.push(letter.id)
    else this.#counts.unread += 1`,
    put: `else {
      await this.#store(letter)
      this.#raw.push(letter.id)
    }`,
  },
  {
    name: 'late-at-each-coming',
    says: 'who loses the connection and comes back is told as late, though they came in time',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0034-late-by-the-log.sql',
    find: 'group by e.user_uuid having bool_and(classroom.is_student(e.role))',
    put: 'group by e.user_uuid, e.sequence, e.ordinal having bool_and(classroom.is_student(e.role))',
  },
  {
    name: 'chat-kept-in-raw-events',
    says: 'where no chats are kept the raw events hold them',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/unkept.ts',
    find: 'data: this.#data(row.data ?? null, isChat), ...(isChat && { extra: null })',
    put: 'data: isChat ? (row.data ?? null) : this.#data(row.data ?? null, isChat), ...(isChat && { extra: null })',
  },
  {
    name: 'replay-adds-alone',
    says: 'a replay stores what is missing, and leaves what differs as it is',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/replay/compare.ts',
    find: `where \${atPlace('t')} and \${same} and (\${isChanged})`,
    put: `where \${atPlace('t')} and \${same} and (\${isChanged}) and false`,
  },
  {
    name: 'kept-day-stays-as-it-was',
    says: 'a day of which is kept who came is not counted again when one of its classes changes',
    group: 'keeping',
    from: 'contract',
    file: 'migrations/0003-classroom.sql',
    find: `where c.app_id = z.app_id and c.began_at >= d.begins_at and c.began_at < d.ends_at) as is_kept`,
    put: `where c.app_id = z.app_id and c.began_at >= d.begins_at and c.began_at < d.ends_at and false) as is_kept`,
  },
  {
    name: 'letters-beyond-the-thousand-uncounted',
    says: 'of what cannot be read beyond a thousand letters a day nothing is known',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/ctes.ts',
    find: 'select :app, :stream, :series, w.reason, count(*), ingest.clock() from weighed w where not w.kept group by w.reason',
    put: 'select :app, :stream, :series, w.reason, count(*), ingest.clock() from weighed w where false group by w.reason',
  },
  {
    name: 'feed-tells-the-forgotten',
    says: 'who is forgotten is masked in what logs tell, and not in what the feed tells',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/commit/commit.ts',
    find: 'const masked = mask.page(page, writes)\n      const alone',
    put: `const masked = page.source === 'feed' ? page : mask.page(page, writes)\n      const alone`,
  },
]
