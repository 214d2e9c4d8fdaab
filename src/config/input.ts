import type { z } from 'zod'
import type { streams } from '../streams/index.ts'
import type { configSchema } from './schema.ts'

/* What a program writes in the place of a configuration file, derived from its schema. */

type Whole = ReturnType<typeof configSchema>

/** A text with a variable in it. */
type Variable = `${string}\${${string}`

/** How a value is written that the program reads as `O`: closed words are known, a duration is a text. */
type Scalar<O> = unknown extends O
  ? string | number | boolean
  : O extends readonly (infer Item)[]
    ? Scalar<Item>
    : [O] extends [boolean]
      ? boolean | Variable
      : [O] extends [string]
        ? string extends O
          ? string | number
          : O | Variable
        : string | number

/** What may be written where the schema takes the texts `I` and makes `O` of them. */
type Written<I, O> = I extends string
  ? Scalar<Exclude<O, undefined>>
  : I extends readonly (infer Item)[]
    ? readonly Written<Item, O extends readonly (infer Made)[] ? Made : unknown>[]
    : I extends object
      ? { readonly [K in keyof I]: Written<I[K], K extends keyof O ? O[K] : unknown> }
      : I

/** Each stream checks its own settings when the configuration is read. */
type StreamLayer = { readonly [N in keyof typeof streams]?: 'off' | Readonly<Record<string, unknown>> }

type WithStreams<T> = Omit<T, 'streams'> & { readonly streams?: StreamLayer }

type Section = Written<z.input<Whole>, z.output<Whole>>

/** A configuration as an object: the keys of docs/configuration.md, with what each may be. */
export type ConfigInput = WithStreams<Omit<Section, 'apps' | 'retention'>> & {
  /** How long rows are kept, by table. */
  readonly retention?: Readonly<Record<string, string>>
  readonly apps: readonly WithStreams<Section['apps'][number]>[]
}
