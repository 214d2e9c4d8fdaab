import { invalid } from './refusals.ts'

/** Reads the parameters of a request; each throws code 400, naming the parameter, where it breaks a rule. */
export class Query {
  readonly #params: URLSearchParams

  constructor(params: URLSearchParams) {
    this.#params = params
  }

  text(name: string): string {
    return this.optionalText(name) ?? refuse(name)
  }

  /** An empty text is none. */
  optionalText(name: string): string | undefined {
    return this.#params.get(name) || undefined
  }

  /** Unix time in seconds. */
  seconds(name: string): number {
    const text = this.text(name)
    if (!/^\d{1,10}$/.test(text)) throw invalid(name)
    return Number(text)
  }

  /** A whole number from 1 to `most`. */
  count(name: string, standard: number, most: number): number {
    const text = this.optionalText(name)
    if (text === undefined) return standard
    const number = Number(text)
    if (!/^\d{1,9}$/.test(text) || number < 1 || number > most) throw invalid(name)
    return number
  }

  /** A comma-separated list of 1 to `most` items. */
  list(name: string, most: number): readonly string[] | undefined {
    const text = this.#params.get(name)
    if (text === null) return undefined
    const items = text.split(',')
    if (items.length > most || items.includes('')) throw invalid(name)
    return items
  }

  /** User IDs, which are whole numbers. */
  users(name: string, most: number): ReadonlySet<number> | undefined {
    const items = this.list(name, most)
    if (items?.some(item => !/^\d{1,10}$/.test(item))) throw invalid(name)
    return items && new Set(items.map(Number))
  }

  yesOrNo(name: string, standard: 'true' | 'false'): boolean {
    return this.oneOf(name, ['true', 'false'], standard) === 'true'
  }

  oneOf<Word extends string>(name: string, words: readonly Word[], standard?: Word): Word {
    const text = this.optionalText(name) ?? standard
    return words.find(word => word === text) ?? refuse(name)
  }
}

function refuse(name: string): never {
  throw invalid(name)
}
