import fc from 'fast-check'

const newYear = 1_767_225_600

/** Anything that a provider might put where an item of an answer should be. */
export const anyItem = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      call_id: fc.oneof(fc.constantFrom('c1', 'c2'), fc.string({ unit: 'binary' }), fc.jsonValue()),
      cname: fc.oneof(fc.constant('algebra-7b'), fc.string({ unit: 'binary' }), fc.jsonValue()),
      created_ts: fc.oneof(fc.integer({ min: newYear - 60, max: newYear + 4_000 }), fc.jsonValue()),
      destroyed_ts: fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.jsonValue()),
      finished: fc.oneof(fc.boolean(), fc.jsonValue()),
      sid: fc.oneof(fc.constantFrom('s1', 's2', 'a,b'), fc.string({ unit: 'binary' }), fc.jsonValue()),
      uid: fc.oneof(fc.nat(), fc.bigInt(), fc.jsonValue()),
      join_ts: fc.oneof(fc.integer({ min: newYear, max: newYear + 4_000 }), fc.double(), fc.jsonValue()),
      leave_ts: fc.oneof(fc.integer({ min: newYear, max: newYear + 4_000 }), fc.jsonValue()),
      ts: fc.oneof(fc.integer({ min: newYear - 40, max: newYear + 4_000 }), fc.double(), fc.jsonValue()),
      userCount: fc.oneof(fc.double(), fc.bigInt(), fc.jsonValue()),
      values: fc.oneof(
        fc.array(fc.record({ ts: fc.constant(newYear), userCount: fc.double() })),
        fc.jsonValue(),
      ),
      data: fc.oneof(
        fc.array(
          fc.record(
            {
              mid: fc.oneof(fc.integer(), fc.jsonValue()),
              peer_uid: fc.oneof(fc.nat(3), fc.bigInt(), fc.jsonValue()),
              kvs: fc.oneof(
                fc.array(fc.oneof(fc.jsonValue(), fc.tuple(fc.nat(), fc.double()))),
                fc.jsonValue(),
              ),
            },
            { requiredKeys: [] },
          ),
        ),
        fc.jsonValue(),
      ),
    },
    { requiredKeys: [] },
  ),
)

const second = fc.integer({ min: newYear, max: newYear + 20 })
const reading = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer())

/** A pair that must be read, with what it says. */
const goodPair = fc
  .tuple(second, reading)
  .chain(([at, value]) =>
    fc
      .constantFrom<unknown>(
        [at, value],
        [String(at), value],
        { ts: at, value },
        { time: at, v: value },
        { t: at, value },
        { timestamp: at, v: value },
        { k: at, v: value },
        { key: at, value },
        [at, value, 'more'],
      )
      .map(pair => ({ pair, at, value })),
  )

/** A pair that says nothing that can be stored: a value that was not measured, or what cannot be read. */
const otherPair = fc.oneof(
  second
    .chain(at => fc.constantFrom<unknown>([at, null], { ts: at, value: null }, { [String(at)]: null }))
    .map(pair => ({ pair, kind: 'missing' as const })),
  fc
    .constantFrom<unknown>(
      null,
      7,
      'x',
      [],
      [newYear],
      [null, null],
      [newYear + 0.5, null],
      {},
      { ts: newYear },
      { value: 1 },
      [newYear, 'many'],
      [newYear, {}],
      [newYear, true],
      [newYear, Number.NaN],
      [newYear, Number.POSITIVE_INFINITY],
      [newYear + 0.5, 1],
      [-1, 1],
      [newYear * 1_000, 1],
      [undefined, 1],
    )
    .map(pair => ({ pair, kind: 'bad' as const })),
)

/** Pairs of one metric: those that can be read, and others among them. */
export const kvs = fc.array(
  fc.oneof(
    { arbitrary: goodPair.map(good => ({ ...good, kind: 'good' as const })), weight: 4 },
    { arbitrary: otherPair, weight: 1 },
  ),
  { maxLength: 40 },
)

/** A value with one of its parts replaced or taken out, wherever that is. */
export function mutated(value: unknown): fc.Arbitrary<unknown> {
  const places = placesOf(value, [])
  return fc
    .tuple(fc.nat(places.length - 1), fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.bigInt()))
    .map(([place, other]) => replaced(value, places[place]!, other))
}

type Place = readonly string[]

function placesOf(value: unknown, path: Place): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner, [...path, key]))]
}

function replaced(value: unknown, [key, ...rest]: Place, other: unknown): unknown {
  if (key === undefined) return other
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
  const inner = replaced(copy[key], rest, other)
  if (inner === undefined && !Array.isArray(copy)) delete copy[key]
  else copy[key] = inner
  return copy
}
