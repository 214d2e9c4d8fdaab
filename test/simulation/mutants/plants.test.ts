import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { describe, expect, it } from 'vitest'
import { plants } from './index.ts'
import { edited, editsOf, groups, PlantError } from './plant.ts'

const names = plants.map(({ name }) => name)
const files = new Map<string, string>()
const migrations = readdirSync('migrations').map(name => `migrations/${name}`)

function textOf(file: string): string {
  const known = files.get(file)
  if (known !== undefined) return known
  const text = readFileSync(file, 'utf8')
  files.set(file, text)
  return text
}

describe('the planted bugs', () => {
  it.each(plants)('$name fits the code', plant => {
    const touched = new Map<string, string>()
    for (const edit of editsOf(plant)) {
      expect(edit.file).toMatch(/^(src\/.+\.ts|migrations\/.+\.sql)$/)
      expect(edit.put).not.toBe(edit.find)
      touched.set(edit.file, edited(touched.get(edit.file) ?? textOf(edit.file), edit, plant.name))
    }
    for (const [file, text] of touched) {
      expect(text).not.toBe(textOf(file))
      // What cannot be parsed would be caught by everything.
      if (file.endsWith('.ts')) expect(() => stripTypeScriptTypes(text)).not.toThrow()
    }
  })

  it('change the last word on a view or a function', () => {
    const inMigrations = plants.flatMap(plant =>
      editsOf(plant).filter(({ file }) => file.startsWith('migrations/')),
    )
    const replaced = inMigrations.flatMap(({ file, find }) => {
      const before = textOf(file).slice(0, textOf(file).indexOf(find))
      const made = [...before.matchAll(/create (?:or replace )?((?:view|function) [a-z_.]+)/g)].at(-1)?.[1]
      const after = migrations.filter(later => later > file)
      return after
        .filter(later => made && new RegExp(`create or replace ${made}\\b`).test(textOf(later)))
        .map(later => `${made} ${later}`)
    })
    expect(inMigrations.length).toBeGreaterThan(10)
    expect(replaced).toEqual([])
  })

  it('have names of their own', () => {
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
  })

  it('are sixty at least, half of them chosen from the documents alone', () => {
    expect(plants.length).toBeGreaterThanOrEqual(60)
    expect(plants.filter(({ from }) => from === 'contract').length).toBeGreaterThanOrEqual(plants.length / 2)
  })

  it('are spread over all groups', () => {
    for (const group of groups) expect(plants.filter(each => each.group === group).length).toBeGreaterThan(5)
  })
})

describe('an edit', () => {
  const edit = { file: 'src/a.ts', find: 'one', put: 'two' }

  it('is made where its place stands once', () => {
    expect(edited('there is one', edit, 'a-plant')).toBe('there is two')
  })

  it.each([
    ['nothing', 0],
    ['one and one', 2],
  ])('is refused in "%s"', (text, times) => {
    expect(() => edited(text, edit, 'a-plant')).toThrow(
      new PlantError(`a-plant: what it changes stands ${times} times in src/a.ts`),
    )
  })
})
