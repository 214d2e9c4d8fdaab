/** Shards that the same replicas know best, and how many of them one replica should hold. */
interface FairShare {
  readonly shards: readonly number[]
  readonly share: number
}

/**
 * What each of some replicas should hold: `knows[replica][shard]` says of how many apps of the shard it knows. A shard
 * is for those who know most of it, so that during a rollout it goes to whoever knows all of its apps. Shares are as
 * equal as that allows, of shards with apps and of all; who is earlier in the list has the odd one. Every replica comes
 * to the same result.
 */
export function fairShares(knows: readonly (readonly number[])[], replica: number): readonly FairShare[] {
  const held = knows.map(() => 0)
  return kinds(knows).map(({ fit, shards }) => {
    const given = knows.map(() => 0)
    for (const _ of shards) {
      const least = fit.reduce((a, b) => (held[b]! < held[a]! ? b : a))
      held[least]! += 1
      given[least]! += 1
    }
    return { shards, share: given[replica]! }
  })
}

interface Kind {
  /** Replicas that know most of these shards. */
  readonly fit: readonly number[]
  readonly hasApps: boolean
  readonly shards: number[]
}

/** What few replicas fit is shared out first, so that the rest evens it out; what has no apps comes last. */
function kinds(knows: readonly (readonly number[])[]): readonly Kind[] {
  const found = new Map<string, Kind>()
  for (const shard of knows[0]?.keys() ?? []) {
    const most = Math.max(...knows.map(each => each[shard]!))
    const fit = [...knows.keys()].filter(replica => knows[replica]![shard] === most)
    const hasApps = most > 0
    const name = `${fit.join()} ${hasApps}`
    const kind = found.get(name) ?? { fit, hasApps, shards: [] }
    found.set(name, kind)
    kind.shards.push(shard)
  }
  return [...found.values()].toSorted(
    (a, b) => Number(b.hasApps) - Number(a.hasApps) || a.fit.length - b.fit.length,
  )
}
