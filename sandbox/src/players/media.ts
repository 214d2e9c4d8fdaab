import { createTs, type Player } from './player.ts'

/** What a stream would turn out to be, once someone connects to it. */
export interface Media {
  readonly kind: 'live' | 'file' | 'image'
  /** Undefined where it goes on without an end. */
  readonly seconds: number | undefined
  readonly isReachable: boolean
}

const files: ReadonlySet<string> = new Set(['mp4', 'mkv', 'ts'])
const images: ReadonlySet<string> = new Set(['jpg', 'jpeg', 'png'])

/** Length of a file that does not say its own. */
const usualSeconds = 600

/**
 * The sandbox opens no stream: what it is follows from its address. The ending of the path tells files and images
 * from live streams; `?seconds=N` is the length of a file, or how much longer a live stream goes on; a host with
 * `unreachable` in its name cannot be reached.
 */
export function mediaOf(streamUrl: string): Media {
  const { hostname, pathname, searchParams } = new URL(streamUrl)
  const ending = /\.(\w+)$/.exec(pathname)?.[1]?.toLowerCase() ?? ''
  const said = Number(searchParams.get('seconds') ?? Number.NaN)
  const seconds = said > 0 ? said : undefined
  const isReachable = !hostname.includes('unreachable')
  if (images.has(ending)) return { kind: 'image', seconds: undefined, isReachable }
  if (files.has(ending)) return { kind: 'file', seconds: seconds ?? usualSeconds, isReachable }
  return { kind: 'live', seconds, isReachable }
}

/** Whether it can be played: it can be reached, and does not start behind its own end. */
export function isPlayable({ kind, seconds = 0, isReachable }: Media, seekPosition: number): boolean {
  return isReachable && (kind !== 'file' || seekPosition < seconds)
}

/**
 * For how long a player plays once it plays, milliseconds: undefined is without an end, 0 or less is not at all. A
 * file that should have begun before the player was made is taken up where it would be by then.
 */
export function playingMs(
  { kind, seconds }: Media,
  player: Pick<Player, 'repeatTime' | 'seekPosition' | 'playTs' | 'createdAt'>,
): number | undefined {
  if (seconds === undefined) return undefined
  if (kind === 'live') return seconds * 1_000
  const { repeatTime, seekPosition, playTs, createdAt } = player
  if (repeatTime < 0) return undefined
  const missed = playTs === 0 ? 0 : Math.max(0, createTs({ createdAt }) - playTs)
  return (repeatTime * seconds - seekPosition - missed) * 1_000
}
