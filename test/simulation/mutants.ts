import type { Fence, PageCommit } from '../../src/engine/ports.ts'
import type { RoomEventRow } from '../../src/tables/classroom.ts'
import type { DatabasePorts } from './ports.ts'
import { type Demands, ownershipTtl } from './scenario.ts'

type Planted = Pick<DatabasePorts, 'store' | 'ledger'>
/** `present` answers the fence of whoever owns the shard now. */
type Plant = (ports: Planted, present: (fence: Fence) => Fence) => Planted

/** A bug planted between the engine and its ports, to see whether the simulation finds it. */
export interface Mutant {
  readonly title: string
  /** What a run must be like for the bug to matter. */
  readonly demands: Demands
  /** `calls`: over the calls that the engine makes, each of which may be cut off from the next; `database`: under them. */
  readonly place: 'calls' | 'database'
  /** Called once for each process. */
  readonly plant: Plant
}

/** By then another process has taken the shards of one that stands still, and works on them, ms. */
const untilAnother = 1.5 * ownershipTtl

export const mutants = {
  'progress-before-rows': {
    title: 'progress is committed first and the rows after it',
    demands: {
      faults: ['kill', 'lost answer', 'cut'],
      // So many events, told one a page, could not all be read beside what goes wrong.
      switches: { tail: 'valid', sequence: 'contiguous', listShape: 'list' },
      profile: { lessonMinutes: 600, eventsPerMinute: 60 },
      streams: ['room-events'],
    },
    place: 'calls',
    plant: changeStore(({ commit }) => ({
      commit: async page => {
        const moved = await commit({ ...page, rows: {} })
        return moved.outcome === 'committed' ? commit({ ...page, version: moved.version }) : moved
      },
    })),
  },
  'no-fence': {
    title: 'whoever owned a shard once may go on writing',
    demands: { faults: ['stall'], shortestStall: untilAnother },
    place: 'database',
    plant: withoutFence,
  },
  'no-guard': {
    title: 'a page is committed whatever version was read before and whoever owns the shard',
    demands: { faults: ['stall'], shortestStall: untilAnother, switches: { roomReuse: 'on' } },
    place: 'database',
    plant: (ports, present) => changeStore(ignoringVersion)(withoutFence(ports, present), present),
  },
  'unread-forgotten': {
    title: 'answers of the feed that nobody stored are not recorded',
    demands: {
      faults: ['lost answer', 'cut'],
      switches: { appFeed: 'consuming' },
      streams: ['app-events'],
    },
    place: 'calls',
    plant: changeStore(() => ({ recordUnread: async () => 0 })),
  },
  'state-dropped': {
    title: 'what a stream must remember is not stored',
    demands: { switches: { roomReuse: 'on' } },
    place: 'database',
    plant: changeStore(({ commit }) => ({ commit: page => commit({ ...page, streamState: null }) })),
  },
  'one-incarnation': {
    title: 'a roomUuid that is used again is taken for the same room',
    demands: { switches: { roomReuse: 'on' } },
    place: 'database',
    plant: changeStore(({ commit }) => ({
      commit: page =>
        commit(
          page.room.kind === 'incarnation'
            ? { ...page, room: { ...page.room, incarnation: 1, opens: false } }
            : page,
        ),
    })),
  },
  'no-key': {
    title: 'an event that is read again is stored again',
    demands: {},
    place: 'database',
    plant: changeStore(({ commit }) => {
      const seen = new Set<string>()
      return { commit: page => commit(withCopies(page, seen)) }
    }),
  },
} as const satisfies Readonly<Record<string, Mutant>>

export type MutantName = keyof typeof mutants

type StorePlant = (store: Planted['store']) => Partial<Planted['store']>

function changeStore(change: StorePlant): Plant {
  return ({ store, ledger }) => ({ store: { ...store, ...change(store) }, ledger })
}

/** Lends every process the right of the present owner. */
function withoutFence({ store, ledger }: Planted, present: (fence: Fence) => Fence): Planted {
  return {
    store: { ...store, commit: page => store.commit({ ...page, fence: present(page.fence) }) },
    ledger: { ...ledger, take: debit => ledger.take({ ...debit, fence: present(debit.fence) }) },
  }
}

function ignoringVersion({ commit, progress }: Planted['store']): Partial<Planted['store']> {
  return {
    commit: async page => {
      const stored = await progress(page.app, page.stream, page.series)
      return commit({ ...page, version: stored?.version ?? page.version })
    },
  }
}

/** Events that were committed before come once more under a key of their own. */
function withCopies(page: PageCommit, seen: Set<string>): PageCommit {
  const events = page.rows['classroom.room_event']
  if (!events) return page
  const again = events.filter(event => seen.has(keyOf(page, event)))
  for (const event of events) seen.add(keyOf(page, event))
  const copies = again.map(
    (event): RoomEventRow => ({ ...event, sequence: Number(event.sequence) + 1_000_000 }),
  )
  return { ...page, rows: { ...page.rows, 'classroom.room_event': [...events, ...copies] } }
}

function keyOf({ app, fence, room }: PageCommit, { room_uuid, sequence }: RoomEventRow): string {
  return [app, fence.shard, room_uuid, room.kind === 'incarnation' ? room.incarnation : '', sequence].join(
    ' ',
  )
}
