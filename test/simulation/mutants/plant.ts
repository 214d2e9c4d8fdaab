/** What stands in one file, once, and what is put in its place. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string
  readonly find: string
  readonly put: string
}

/** A bug: the code as a programmer might have written it by mistake, for a copy of the code alone. */
export interface Plant extends Edit {
  readonly name: string
  /** What is done wrong, in one sentence. */
  readonly says: string
  readonly group: Group
  /** Chosen from the provider's documents and ARCHITECTURE alone, or with the code before one's eyes. */
  readonly from: 'contract' | 'code'
  /** Further places without which the bug would be none. */
  readonly also?: readonly Edit[]
}

export const groups = [
  'progress',
  'ownership',
  'limits',
  'ranges',
  'classrooms',
  'players',
  'decoding',
  'keeping',
] as const
export type Group = (typeof groups)[number]

/** All places that a plant changes. */
export function editsOf(plant: Plant): readonly Edit[] {
  return [plant, ...(plant.also ?? [])]
}

/** A plant that no longer fits the code. */
export class PlantError extends Error {
  override readonly name = 'PlantError'
}

/** The text of a file with the edit made. Throws PlantError where the place is not there, or not once. */
export function edited(text: string, { file, find, put }: Edit, plant: string): string {
  const pieces = text.split(find)
  if (pieces.length !== 2)
    throw new PlantError(`${plant}: what it changes stands ${pieces.length - 1} times in ${file}`)
  return pieces.join(put)
}
