import { ConnectionLost, type Sandbox } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import type { Hands } from './hands.ts'
import type { Kernel } from './kernel.ts'

const second = 1_000
const minute = 60 * second

/** Mean time between two players where nothing else is said, ms. */
const usually = 3 * minute
/** Mean time after which one is deleted, unless it has gone by itself, ms. */
const life = 8 * minute

export interface DriverOptions {
  readonly kernel: Kernel
  readonly sandbox: Sandbox
  readonly app: string
  readonly random: Random
  /** Mean time between two players, ms. */
  readonly every?: number | undefined
  /** Channels in which every other one plays; any of forty where absent. */
  readonly channels?: readonly string[] | undefined
  /** When somebody made one last, of all drivers of a world: the provider counts for all of a credential. */
  readonly made: { at: number }
  /** With whose help; without any, past the program. */
  readonly hands?: () => Hands | undefined
}

/** People and programs who make and delete players, without a thought for whoever watches them. */
export interface Driver {
  readonly start: () => void
  /** From now on nothing is made or deleted. */
  readonly stop: () => void
}

/** Two a second, any more is too many. */
const shortestGap = 700
/** Each time that so many have been made by hand, several are made at once. */
const [atOnceEach, atOnce] = [4, 4]
/** Among so many are those whose names they take. */
const lately = 20
const sweepEvery = 10 * minute
const regions = ['cn', 'ap', 'na', 'eu'] as const

interface Made {
  readonly id: string
  readonly region: string
}

type Draft = Readonly<Record<string, unknown>> & { readonly streamUrl: string }

export function createDriver({
  kernel,
  sandbox,
  app,
  random,
  every = usually,
  channels = [],
  made,
  hands,
}: DriverOptions): Driver {
  let isStopped = false
  let count = 0
  const chance = (share: number) => random.next() < share
  const between = (least: number, most: number) => least + Math.floor(random.next() * (most - least + 1))
  const pick = <T>(...choices: readonly T[]) => choices[between(0, choices.length - 1)]!
  const soonOrLate = (mean: number) => -Math.log(1 - random.next()) * mean

  function later(ms: number, act: () => void | Promise<void>): void {
    kernel.after(ms, undefined, async () => {
      if (isStopped) return
      const acted = act()
      // The program's client asks the world itself, and waits for its turn.
      if (!hands?.()) await acted
    })
  }

  async function ask(method: string, path: string, body?: object): Promise<Response | undefined> {
    const rest = sandbox.settings.apps.find(({ id }) => id === app)!.rest!
    const authorization = `Basic ${btoa(`${rest.key}:${rest.secret}`)}`
    const request = new Request(`http://provider.test/${path}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return sandbox.fetch(request).catch((error: unknown) => {
      if (error instanceof ConnectionLost) return undefined
      throw error
    })
  }

  /** One Create at a time, and never two within half a second. */
  function make(act: () => Promise<void>): void {
    const wait = Math.max(0, made.at + shortestGap - kernel.now)
    made.at = kernel.now + wait
    later(wait, act)
  }

  async function create(body: Draft): Promise<Made | undefined> {
    const region = pick(...regions)
    const help = hands?.()
    if (help) {
      const id = await help.create(app, { ...body, region })
      return id === undefined ? undefined : { id, region }
    }
    const path = `${region}/v1/projects/${app}/cloud-player/players`
    const response = await ask('POST', path, body)
    if (response?.status !== 200) return undefined
    const player = await response
      .json()
      .then(body => (body as { readonly player?: { readonly id: string } }).player)
      // A page of a maintenance comes with 200, too.
      .catch(() => undefined)
    return player && { id: player.id, region }
  }

  async function remove({ id, region }: Made): Promise<void> {
    const help = hands?.()
    // Now and then somebody does not remember where it was made.
    if (help) return help.destroy(app, chance(0.2) ? pick(...regions) : region, id)
    await ask('DELETE', `${region}/v1/projects/${app}/cloud-player/players/${id}`)
  }

  function draft(): Draft {
    count += 1
    const now = Math.floor(sandbox.universe.now() / second)
    const user = pick<object>({ uid: 10_000 + count }, { uid: 0 }, { account: `bot ${count}` })
    return {
      streamUrl: address(),
      channelName: channels.length > 0 && chance(0.5) ? pick(...channels) : `class-${between(1, 40)}`,
      ...user,
      ...(chance(0.6) && {
        // Whoever lately had a name is there most likely.
        name: hands?.()
          ? `player-${chance(0.4) ? between(Math.max(1, count - lately), count) : count}`
          : `player-${chance(0.1) ? between(1, count) : count}`,
      }),
      ...(chance(0.3) && { token: `canary-token-${count}` }),
      ...(chance(0.1) && {
        ...{ encryptMode: 'aes-128-gcm2', encryptKey: `canary-key-${count}` },
        encryptKdfSalt: `canary-salt-${String(count).padStart(20, '0')}`,
      }),
      ...(chance(0.5) && { idleTimeout: pick(5, 30, 60, 120, 600) }),
      ...(chance(0.15) && { playTs: now + between(-3_600, 290) }),
    }
  }

  function address(): string {
    return pick(
      `rtmp://live.example/room/${count}`,
      `rtmp://viewer:canary-${count}@live.example/room/${count}?token=canary-${count}`,
      `https://live.example/hls/${count}.m3u8`,
      `http://live.example/flv/${count}?seconds=${between(20, 900)}`,
      `https://files.example/film-${count}.mp4?seconds=${between(10, 600)}`,
      `https://files.example/slide-${count}.png`,
      `rtmp://unreachable.example/${count}`,
    )
  }

  async function makeOne(): Promise<void> {
    const one = await create(draft())
    if (one) later(soonOrLate(life), () => remove(one))
  }

  /** Looks at what really lives: whoever lost sight of a player deletes it some day. */
  async function sweep(): Promise<void> {
    const players = sandbox.players(app).filter(({ destroyedAt }) => destroyedAt === undefined)
    const now = sandbox.universe.now()
    for (const player of players) {
      const age = now - player.createdAt
      if (age > 4 * life && chance(0.5)) await remove(player)
    }
    later(sweepEvery, sweep)
  }

  function makeOthers(): void {
    make(makeOne)
    // Several people at once: the program's own client holds them to what may be asked in a second.
    if (hands?.() && count % atOnceEach === 0) for (let n = 1; n < atOnce; n++) later(0, makeOne)
    later(soonOrLate(every), makeOthers)
  }

  return {
    start: () => {
      later(0, makeOthers)
      later(sweepEvery, sweep)
    },
    stop: () => {
      isStopped = true
    },
  }
}
