import type { Plant } from './plant.ts'

export const players: readonly Plant[] = [
  {
    name: 'blind-time-ignored',
    says: 'a player that is too new to be listed counts as missing',
    group: 'players',
    from: 'contract',
    file: 'src/streams/parts/known-players.ts',
    find: 'if (progress.seen.has(player.id) || moment.now - player.since <= blindSeconds) {',
    put: 'if (progress.seen.has(player.id)) {',
  },
  {
    name: 'thin-entry-erases',
    says: 'an entry that leaves out where a player plays erases it',
    group: 'players',
    from: 'contract',
    file: 'src/tables/players.ts',
    find: `except: { destroyed_at: 'replace', status: 'alive' },`,
    put: `except: { destroyed_at: 'replace', status: 'alive', channel_name: 'replace', stream_url: 'replace' },`,
  },
  {
    name: 'absent-once-destroyed',
    says: 'a player that one list lacks is gone',
    group: 'players',
    from: 'contract',
    file: 'src/streams/parts/known-players.ts',
    find: 'const listsUntilDestroyed = 2',
    put: 'const listsUntilDestroyed = 1',
  },
  {
    name: 'create-repeated',
    says: 'after an answer that leaves the outcome open a player is made under another name at once',
    group: 'players',
    from: 'contract',
    file: 'src/client/create-player.ts',
    find: 'const answer = (await ask(operation, this.#given)) as CreateAnswer',
    put: `const name = attempt === 1 ? this.#given.name : \`\${this.#given.name}-\${attempt}\`
      const answer = (await ask(operation, { ...this.#given, name })) as CreateAnswer`,
    also: [
      {
        file: 'src/client/create-player.ts',
        find: `      const found = await this.#lookAfter(SEEN_AFTER_MS)
      return found && adopted(this.#intent.name, found)`,
        put: '      return undefined',
      },
    ],
  },
  {
    name: 'delete-404-believed',
    says: 'a 404 of Delete counts as destroyed',
    group: 'players',
    from: 'contract',
    file: 'src/client/players.ts',
    find: `return isUnknown ? 'not found' : 'open'`,
    put: `return isUnknown ? 'done' : 'open'`,
  },
  {
    name: 'notice-is-truth',
    says: 'a notice of destruction destroys the player',
    group: 'players',
    from: 'contract',
    file: 'src/postgres/players.ts',
    find: '  `insert into players.notification (app_id,',
    put: `  \`with gone as (
     update players.cloud_player p set status = 'destroyed', destroyed_at = ingest.clock()
     where p.app_id = :app and p.player_id = :player and :type::int = 3)
   insert into players.notification (app_id,`,
  },
  {
    name: 'notice-twice',
    says: 'a notice that is delivered again is stored again',
    group: 'players',
    from: 'contract',
    file: 'src/http/notifications.ts',
    find: `      noticeId,
      eventType,
`,
    put: `      noticeId: \`\${noticeId}/\${noticesRead++}\`,
      eventType,
`,
    also: [
      {
        file: 'src/http/notifications.ts',
        find: '/** Nothing that is told of one player is deeper or has more parts. */',
        put: `let noticesRead = 0
`,
      },
    ],
  },
  {
    name: 'late-notice-dropped',
    says: 'a notice that comes after a later one of its player is dropped',
    group: 'players',
    from: 'contract',
    file: 'src/postgres/players.ts',
    find: `   where ingest.hold_forgotten(:app, :forgotten::bigint)
   on conflict`,
    put: `   where ingest.hold_forgotten(:app, :forgotten::bigint)
     and not exists (select from players.notification n where n.app_id = :app and n.player_id = :player
       and n.notified_at > to_timestamp(:notified::double precision / 1000))
   on conflict`,
  },
  {
    name: 'second-page-of-players',
    says: 'of the list of players the first page alone is read',
    group: 'players',
    from: 'contract',
    file: 'src/streams/cloud-players.ts',
    find: 'nextId: nextPageToken || undefined,',
    put: 'nextId: undefined,',
  },
  {
    name: 'broken-listing-counts',
    says: 'a listing that names fewer players than it says there are counts as whole',
    group: 'players',
    from: 'contract',
    file: 'src/streams/parts/known-players.ts',
    find: `state: seen.size === total ? 'complete' : 'incomplete'`,
    put: `state: 'complete'`,
  },
  {
    name: 'destroyed-for-ever',
    says: 'a player that comes back stays destroyed',
    group: 'players',
    from: 'contract',
    file: 'src/tables/players.ts',
    find: `except: { destroyed_at: 'replace', status: 'alive' },`,
    put: `except: { destroyed_at: 'merge', status: 'alive' },`,
  },
  {
    name: 'destroyed-with-the-second-list',
    says: 'a player is gone from the second list on that lacks it',
    group: 'players',
    from: 'contract',
    file: 'src/streams/parts/known-players.ts',
    find: 'at: player.missed?.at ?? afterLast(player, moment),',
    put: 'at: afterLast(player, moment),',
  },
  {
    name: 'first-status-stays',
    says: 'a status that changes is no change',
    group: 'players',
    from: 'contract',
    file: 'src/streams/parts/known-players.ts',
    find: 'const hasChanged = status !== undefined && status !== from',
    put: 'const hasChanged = status !== undefined && from === null',
  },
  {
    name: 'absences-add-up',
    says: 'two lists that lack a player destroy it though one between named it',
    group: 'players',
    from: 'code',
    file: 'src/streams/parts/known-players.ts',
    find: `      missed: null,
    })`,
    put: `      missed: known?.missed ?? null,
    })`,
  },
  {
    name: 'change-told-again',
    says: 'a status that is listed again is another change',
    group: 'players',
    from: 'code',
    file: 'src/postgres/commit/lists.ts',
    find: 'where exists (select from moved) and d.to_status is distinct from p.status',
    put: 'where exists (select from moved)',
    // The stream tells no change where it remembers the player.
    also: [
      {
        file: 'src/streams/parts/known-players.ts',
        find: 'const hasChanged = status !== undefined && status !== from',
        put: 'const hasChanged = status !== undefined',
      },
    ],
  },
  {
    name: 'stranger-adopted',
    says: 'the player of a stranger that has the name is taken for the one that was made',
    group: 'players',
    from: 'code',
    file: 'src/client/create-player.ts',
    find: `if (this.isUncertain && typeof found === 'object' && this.#isOurs(found)) {`,
    put: `if (typeof found === 'object') {`,
  },
  {
    name: 'region-forgotten',
    says: 'of a player that is made by hand the region is not kept',
    group: 'players',
    from: 'code',
    file: 'src/postgres/players.ts',
    find: 'update players.cloud_player p set region = f.region from finished f',
    put: 'update players.cloud_player p set region = p.region from finished f',
    also: [
      {
        file: 'src/postgres/commit/lists.ts',
        find: 'where i.app_id = :app and i.player_id = d.player_id',
        put: `where i.app_id = :app and i.player_id = d.player_id and i.state = 'open'`,
      },
    ],
  },
]
