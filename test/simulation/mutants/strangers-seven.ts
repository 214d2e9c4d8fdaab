import type { Plant } from './plant.ts'

/** Bugs of a seventh list, of classrooms, players and the store, chosen from what the documents say before any code was read. */
export const strangersSeven: readonly Plant[] = [
  {
    name: 'leaving-in-the-place-of-entering',
    says: 'where an event tells of some who enter and of others who leave, both are counted from 0',
    group: 'classrooms',
    from: 'contract',
    file: 'src/streams/events/people.ts',
    find: `judgeEach(Person, value.offlineUsers ?? [], 'data.offlineUsers', onlineUsers.length)`,
    put: `judgeEach(Person, value.offlineUsers ?? [], 'data.offlineUsers')`,
  },
  {
    name: 'file-listed-again-stays-removed',
    says: 'a file of a recording that is listed again after a list had left it out stays removed',
    group: 'classrooms',
    from: 'contract',
    file: 'src/tables/classroom.ts',
    find: `  onConflict: 'replace',
  except: { extra: 'merge' },
})
export type RecordingFileRow`,
    put: `  onConflict: 'replace',
  except: { extra: 'merge', removed_at: 'merge' },
})
export type RecordingFileRow`,
  },
  {
    name: 'former-class-whole-though-unread',
    says: 'a class is complete though its room was used again before its lists and logs were read to their end',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0030-ends-told-late.sql',
    find: `case when coalesce(r.unread ? p.stream, false)
                      or r.valid_to is null`,
    put: `case when r.valid_to is null`,
    // What was not read then is in the ledger too: without this the class would not be complete either.
    also: [
      {
        file: 'migrations/0030-ends-told-late.sql',
        find: 'where g.app_id = r.app_id and g.stream = p.stream and g.series = r.room_uuid',
        put: `where g.app_id = r.app_id and g.stream = p.stream and g.series = r.room_uuid and g.reason <> 'room_reused'`,
      },
    ],
  },
  {
    name: 'assistants-counted-as-students',
    says: 'of how many students are in a room those who assist are a part',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0037-classes-one-after-another.sql',
    find: "case when trim(s.role) <> '' then classroom.is_student(s.role)",
    put: "case when trim(s.role) <> '' then s.role not in ('1', 'teacher', 'host')",
  },
  {
    name: 'week-before-adds-its-days',
    says: 'as students of the week before those of its days are added up, so that who came on two days counts twice',
    group: 'classrooms',
    from: 'contract',
    file: 'migrations/0003-classroom.sql',
    find: `count(distinct u.student)::int as students,`,
    put: `case when o.is_own then count(distinct u.student) else count(u.student) end::int as students,`,
  },
  {
    name: 'log-confirms-what-it-passed',
    says: 'a page of a log confirms all that the feed told up to its last event, also what it does not hold',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/events.ts',
    find: `    confirmed,
    unheard,
    holes,`,
    put: `    confirmed,
    \`passed as (
      update classroom.room_event f set source = 'log'
      where f.app_id = :app and f.room_uuid = :series and f.incarnation = :incarnation::int and f.source = 'feed'
        and f.sequence <= (select max(e.sequence) from event e) and not exists (select from event e where e.sequence = f.sequence))\`,
    unheard,
    holes,`,
  },
  {
    name: 'player-of-the-latest-class',
    says: 'a player belongs to the latest class of its channel, whenever it was created',
    group: 'players',
    from: 'contract',
    file: 'migrations/0037-classes-one-after-another.sql',
    find: `
      and c.at >= r.valid_from - interval '15 minutes'
      and c.at < coalesce(r.valid_to, 'infinity') - interval '1 minute'`,
    put: '',
    also: [
      {
        file: 'migrations/0037-classes-one-after-another.sql',
        find: 'order by r.incarnation limit 1',
        put: 'order by r.incarnation desc limit 1',
      },
    ],
  },
  {
    name: 'users-of-a-channel-in-another-order',
    says: 'of the players of a channel the IDs are told from the oldest on, and the users in the order of their names',
    group: 'players',
    from: 'contract',
    file: 'migrations/0005-players.sql',
    find: `array_agg(coalesce(p.uid, p.account) order by p.created_at, p.player_id) as users`,
    put: `array_agg(coalesce(p.uid, p.account) order by coalesce(p.uid, p.account)) as users`,
  },
  {
    name: 'call-that-ended-watches',
    says: 'a player in the channel of a call that has ended counts as watched',
    group: 'players',
    from: 'contract',
    file: 'migrations/0005-players.sql',
    find: `c.cname = p.channel_name and c.finished is not true`,
    put: `c.cname = p.channel_name`,
  },
  {
    name: 'forgets-the-latest-room-alone',
    says: 'of a room of which everyone is to be forgotten those are who were in the latest of its name',
    group: 'keeping',
    from: 'contract',
    file: 'src/postgres/holdings.ts',
    find: `  const ofRoom = [...(room ? [\`t.\${room} = $2\`] : []),`,
    put: `  const latest = '(select max(r.incarnation) from classroom.room r where r.app_id = $1 and r.room_uuid = $2)'
  const isLatest = room === 'room_uuid' ? \` and t.incarnation = \${latest}\` : ''
  const ofRoom = [...(room ? [\`t.\${room} = $2\${isLatest}\`] : []),`,
  },
  {
    name: 'answers-counted-on-when-read-again',
    says: 'a log of quizzes or polls that is read from its beginning once more is counted on from where it was',
    group: 'progress',
    from: 'contract',
    file: 'src/streams/widgets/widget-stream.ts',
    find: `  const fold = page.cursor === null ? beginning : streamState.fold`,
    put: `  const fold = streamState.fold ?? (page.cursor === null ? beginning : null)`,
    also: [
      {
        file: 'src/streams/widgets/widget-stream.ts',
        find: `rewind: stored => ({ ...readState(WidgetState, stored), fold: null, lost: false, held: null }),`,
        put: `rewind: stored => ({ ...readState(WidgetState, stored), lost: false, held: null }),`,
      },
    ],
  },
  {
    name: 'off-for-one-app-unknown',
    says: 'that a stream is off is written down where it is off for all apps, and not where it is for one alone',
    group: 'keeping',
    from: 'contract',
    file: 'src/engine/series/poller.ts',
    find: `names.filter(name => !isOn(name))]`,
    put: `names.filter(name => !isOn(name) && !(app as { ownOff?: readonly string[] }).ownOff?.includes(name))]`,
    also: [
      {
        file: 'src/commands/app-settings.ts',
        find: `    rooms,
    streams: byName(`,
        put: `    rooms,
    ...{ ownOff: Object.entries((app as { own?: object }).own ?? {}).flatMap(([name, said]) => (said === 'off' ? [name] : [])) },
    streams: byName(`,
      },
      {
        file: 'src/config/config.ts',
        find: `        ...rest,
        expect: app.expect,`,
        put: `        ...rest,
        ...{ own },
        expect: app.expect,`,
      },
    ],
  },
  {
    name: 'letter-of-another-room',
    says: 'what cannot be read and was kept of one room is not kept of another one that tells the same bytes',
    group: 'progress',
    from: 'contract',
    file: 'src/postgres/commit/ctes.ts',
    find: `    select :app, :stream, :series, w.reason, w.detail, w.bytes from weighed w where w.kept
`,
    put: `    select :app, :stream,
           coalesce((select t.series from ingest.dead_letter t
                     where t.app_id = :app and t.stream = :stream and t.reason = w.reason and t.content_hash = sha256(w.bytes)
                     order by t.id limit 1), :series), w.reason, w.detail, w.bytes from weighed w where w.kept
`,
  },
]
