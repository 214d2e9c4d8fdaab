import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { edited, editsOf, type Plant } from './plant.ts'

/** What a simulation needs of the repository. */
const parts = [
  'bin',
  'src',
  'sandbox',
  'embedded-postgres',
  'migrations',
  'test',
  'config',
  'package.json',
  'tsconfig.json',
] as const

/** A copy of the working tree, in which one bug at a time is planted. */
export interface Copy {
  readonly folder: string
  /** Throws PlantError. */
  readonly plant: (plant: Plant) => void
  /** The code as it was. */
  readonly restore: () => void
  readonly remove: () => void
}

export function copyTree(root: string): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-plant-'))
  for (const part of parts)
    cpSync(join(root, part), join(folder, part), {
      recursive: true,
      filter: path => !path.endsWith('/node_modules'),
    })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const originals = new Map<string, string>()

  return {
    folder,
    plant: plant => {
      for (const edit of editsOf(plant)) {
        const path = join(folder, edit.file)
        const text = readFileSync(path, 'utf8')
        if (!originals.has(path)) originals.set(path, text)
        writeFileSync(path, edited(text, edit, plant.name))
      }
    },
    restore: () => {
      for (const [path, text] of originals) writeFileSync(path, text)
      originals.clear()
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
