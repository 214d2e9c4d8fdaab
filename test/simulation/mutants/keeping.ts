import type { Plant } from './plant.ts'

/** Of what is taken away when it is older than it is kept. */
export const keeping: readonly Plant[] = [
  {
    name: 'gone-before-its-time',
    says: 'what is half as old as it is kept is taken away',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: 'values: [new Date(now.getTime() - kept), BATCH]',
    put: 'values: [new Date(now.getTime() - kept / 2), BATCH]',
  },
  {
    name: 'kept-for-ever',
    says: 'nothing is taken away, however old it is',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: `if (kept === 'forever') return`,
    put: `if (kept !== undefined) return`,
  },
  {
    name: 'last-table-of-a-room-stays',
    says: 'of a room that is emptied one table keeps its rows',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: 'const contents = classroomTables.filter(table => table !== room).map(({ name }) => name)',
    put: 'const contents = classroomTables.filter(table => table !== room).map(({ name }) => name).slice(1)',
  },
  {
    name: 'minutes-of-a-call-stay',
    says: 'of a call that is emptied the minutes are kept',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: `  'call_summary',
  'call_minute',
`,
    put: `  'call_summary',
`,
  },
  {
    name: 'emptied-room-is-doubted',
    says: 'a room that was whole is not said to be any more once it was emptied',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: `'confirmed', o.confirmed, 'recordings', o.recordings)`,
    put: `'confirmed', false, 'recordings', o.recordings)`,
  },
  {
    name: 'old-letters-make-whole',
    says: 'a room of which something could not be read is whole when the bytes are no longer kept',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: `where stream in (select ingest.room_streams())
        and reason in`,
    put: `where stream not in (select ingest.room_streams())
        and reason in`,
  },
  {
    name: 'emptied-by-its-begin',
    says: 'a room is emptied so long after it was first seen, and not after its last sign of life',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/prune.ts',
    find: 'where greatest(r.last_event_at, r.ended_at, r.verified_at) < $1 and (',
    put: `where r.first_seen_at - interval '1 hour' < $1 and (`,
    also: [
      {
        file: 'src/postgres/prune.ts',
        find: 'and coalesce(r.last_event_at, r.ended_at, r.first_seen_at) < $1',
        put: '',
      },
    ],
  },
]
