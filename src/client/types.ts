import type { z } from 'zod'
import type { Region } from '../provider/classroom/index.ts'
import type { Operation } from '../provider/operation.ts'
import type { Named, Unchecked } from './answers.ts'
import type { Operations } from './operations.ts'
import type { Created } from './players/created.ts'

/* What an operation takes and answers, derived from its contract. */

type Rules = Readonly<Record<string, z.ZodType>>

type OptionalNames<R extends Rules> = {
  [K in keyof R]: undefined extends z.input<R[K]> ? K : never
}[keyof R]

type Fields<R extends Rules> = {
  readonly [K in Exclude<keyof R, OptionalNames<R>>]: z.input<R[K]>
} & { readonly [K in OptionalNames<R>]?: z.input<R[K]> }

type BodyFields<O extends Operation> = O extends { readonly body: infer B extends z.ZodType }
  ? Exclude<z.input<B>, undefined>
  : unknown

/** The app fills these in. */
type OfApp = 'appId' | 'appid' | 'region'

type Merged<T> = { [K in keyof T]: T[K] }

/**
 * The arguments of an operation: path, query and body side by side. Project and region are the app's own; `region` may
 * be given where another one is meant.
 */
export type Arguments<O extends Operation> = Merged<
  Omit<Fields<O['pathParams']> & Fields<O['queryParams']> & BodyFields<O>, OfApp> &
    ('region' extends keyof O['pathParams'] ? { readonly region?: Region } : unknown)
>

/** What comes back: the checked answer, as the contract names its fields. Of a player that is created, also its name and how it was found. */
export type Answer<O extends Operation> = O extends Operations['players']['createPlayer']
  ? Created
  : O extends Operations['players']['deletePlayer']
    ? undefined
    : O['name'] extends keyof Unchecked
      ? Omit<Named<z.output<O['answer']>>, keyof Unchecked[O['name']]> & Unchecked[O['name']]
      : Named<z.output<O['answer']>>

export interface CallOptions {
  /** How long the request may wait for its turn, ms; 60,000 unless told. */
  readonly timeout?: number
  /** X-Request-ID of the request, and of each further attempt at it: a UUID. Each has one of its own unless told. */
  readonly requestId?: string
}

type Call<O extends Operation> =
  Record<never, never> extends Arguments<O>
    ? (given?: Arguments<O>, options?: CallOptions) => Promise<Answer<O>>
    : (given: Arguments<O>, options?: CallOptions) => Promise<Answer<O>>

type Calls<F extends Readonly<Record<string, Operation>>> = { readonly [N in keyof F]: Call<F[N]> }

/** The operations of one app, by family. Each rejects with ParameterError before anything is sent, or with CallError. */
export type AppClient = { readonly id: string } & {
  readonly [F in keyof Operations]: Calls<Operations[F]>
}
