import type { z } from 'zod'
import type { Region } from '../provider/classroom/index.ts'
import type { Operations } from '../provider/index.ts'
import type { Operation } from '../provider/operation.ts'
import type { CreateAnswer } from '../provider/players/index.ts'

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

/**
 * What comes back: the checked answer, as the contract names its fields. Lists are handed on as they came, so that one
 * bad item spoils no page: nobody has checked what stands in them. Of a player that is created, also its name and how
 * it was found.
 */
export type Answer<O extends Operation> = O extends Operations['players']['createPlayer']
  ? Created
  : Listed<Named<z.output<O['answer']>>, Items<O>> & About<O>

type Items<O> = O extends { readonly items: infer I extends Rules } ? I : Record<never, never>

type Listed<A, I extends Rules> = {
  [K in keyof A]: K extends keyof I ? Named<z.output<I[K]>>[] | Extract<A[K], null | undefined> : A[K]
}

/** What answers of call analytics say beside their lists, by the contract; it is not checked either. */
type About<O extends Operation> = O['family'] extends 'analytics'
  ? Said & ('page_no' extends keyof O['queryParams'] ? Page : unknown)
  : unknown

interface Said {
  message?: string | null
  requestId?: string | null
}

interface Page {
  total_size?: number | null
  page_no?: number | null
  page_size?: number | null
}

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

/** What the contract names: unknown fields pass at run time and stand in no type. */
export type Named<T> = T extends readonly (infer Item)[]
  ? Named<Item>[]
  : T extends object
    ? { [K in keyof T as string extends K ? never : number extends K ? never : K]: Named<T[K]> }
    : T

/** A player that was made, or found again after an answer was lost. */
export interface Created extends Named<CreateAnswer> {
  /** Its name, made up where none was given. */
  readonly name: string
  /** Found again: the request that made it was answered to nobody. */
  readonly adopted: boolean
}
