/** Addresses of files by their numbers, and the numbers of those that are listed no longer. */
export interface KnownFiles {
  readonly urls: readonly string[]
  readonly gone: readonly number[]
}

export interface NumberedFiles extends KnownFiles {
  /** Number of the file at each place of the list. */
  readonly numbers: readonly number[]
  /** Numbers of those that were listed before and are not now. */
  readonly removed: readonly number[]
}

/**
 * Which file is which in a list that changes. One is known by its address, wherever it is listed; one of another address at the
 * place of a file that is listed nowhere is that file, for addresses may be signed anew each time. All others are new, so that
 * what a list no longer names keeps its number when others move up into its place.
 */
export function numberFiles({ urls, gone }: KnownFiles, listed: readonly string[]): NumberedFiles {
  const isGone = new Set(gone)
  const live = urls.map((_, number) => number).filter(number => !isGone.has(number))
  const byUrl = Map.groupBy([...gone.toReversed(), ...live.toReversed()], number => urls[number]!)
  const taken = new Set<number>()
  const numbers: (number | undefined)[] = listed.map(() => undefined)
  const match = (find: (url: string, place: number) => number | undefined) => {
    for (const [place, url] of listed.entries()) {
      const found = numbers[place] === undefined ? find(url, place) : undefined
      if (found === undefined || taken.has(found)) continue
      numbers[place] = found
      taken.add(found)
    }
  }
  const ofUrl = (url: string) => {
    const known = byUrl.get(url) ?? []
    while (known.length > 0 && taken.has(known.at(-1)!)) known.pop()
    return url === '' ? undefined : known.at(-1)
  }
  match((url, place) => (url !== '' && urls[live[place] ?? -1] === url ? live[place] : undefined))
  match(ofUrl)
  match((_, place) => live[place])
  const now = [...urls]
  const numbered = numbers.map((number, place) => {
    const own = number ?? now.length
    now[own] = listed[place] || (now[own] ?? '')
    return own
  })
  const removed = live.filter(number => !taken.has(number))
  const stillGone = gone.filter(number => !taken.has(number))
  return { urls: now, gone: [...stillGone, ...removed], numbers: numbered, removed }
}
