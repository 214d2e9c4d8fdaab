import type { Classroom } from '../classroom.ts'
import { type Draw, drawFrom } from '../draw.ts'
import { channelAlphabet, text } from '../players/checks.ts'
import type { Draft } from '../players/player.ts'
import type { Players } from '../players/players.ts'
import { seededRandom } from '../seeded.ts'

const seconds = 1_000
const minutes = 60 * seconds

/** Of the lessons in whose channel something can be shown. */
const shareWithFilm = 0.9

/** Of the players that someone still thinks of when the lesson ends. */
const shareRemembered = 0.7

/** A forgotten player is found and removed within this time. */
const untilFound = [10 * minutes, 40 * minutes] as const

/** What teachers show; `seconds` is how long it takes. */
const shown = [
  'https://media.example/volcano.mp4?seconds=240',
  'https://media.example/cells-dividing.mkv?seconds=600',
  'https://media.example/map-of-europe.png',
  'rtmp://live.example/observatory/cam-2',
  'https://live.example/parliament/index.m3u8',
  'http://unreachable.example/lost-lecture.flv',
] as const

const isChannelName = text(64, channelAlphabet)

/**
 * Perhaps shows a film or a picture to a class, as a cloud player in the channel of its room, from early in the
 * lesson to its end; some players are forgotten there. `lesson` names it within its app.
 */
export function showFilm(
  players: Players,
  room: Classroom,
  lesson: { readonly name: string; readonly seed: string; readonly from: number; readonly to: number },
): void {
  const draw = drawFrom(seededRandom(`${lesson.seed}/film`))
  if (!isChannelName(room.room.uuid) || !draw.chance(shareWithFilm)) return
  const { from, to } = lesson
  room.later(from + draw.between(0.02, 0.3) * (to - from), now => {
    const player = players.create(filmFor(room, lesson.name, draw), usersOf(room), now)
    const end = draw.chance(shareRemembered) ? to : to + draw.between(...untilFound)
    room.agenda.at(end, later => players.destroy(player, 'deleted', later))
  })
}

function filmFor(room: Classroom, name: string, draw: Draw): Draft {
  return {
    region: 'ap',
    streamUrl: draw.pick(shown),
    channelName: room.room.uuid,
    uid: 0,
    account: undefined,
    name: draw.chance(0.6) ? `film-${name}` : undefined,
    token: undefined,
    idleTimeout: 300,
    playTs: 0,
    repeatTime: 1,
    seekPosition: 0,
  }
}

function usersOf({ teacher, students }: Classroom): ReadonlySet<number> {
  return new Set([teacher, ...students].map(({ uid }) => uid))
}
