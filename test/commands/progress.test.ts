import { expect, test } from 'vitest'
import { bar, isColourful, leftLine, paint, textTable } from '../../src/commands/cli/output.ts'
import { progressColour } from '../../src/commands/demo/screen.ts'

test('a bar is as full as the share, and never longer', () => {
  expect([0, 0.5, 1, 1.7, -1].map(bar)).toEqual([
    '....................',
    '##########..........',
    '####################',
    '####################',
    '....................',
  ])
})

test('what is left is told with an estimate, once there is a pace to reckon with', () => {
  const line = (left: number, most: number, ms: number) => leftLine(left, most, ms, n => `${n} rows`)
  expect(line(4_000, 4_000, 500)).toBe('....................  4000 rows left')
  expect(line(1_000, 4_000, 6_000)).toBe('###############.....  1000 rows left, about 2 s')
  expect(line(3_999, 4_000, 6_000)).toBe('....................  3999 rows left, about 6 h')
  expect(line(0, 4_000, 6_000)).toBe('####################  0 rows left, about 0 s')
  expect(line(0, 0, 10)).toBe('####################  0 rows left')
})

test('colours are for a terminal alone, and for nobody who said otherwise', () => {
  expect(isColourful({ isTTY: false })).toBe(false)
  expect(isColourful({})).toBe(false)
  expect(paint('green', 'well', true)).toBe('\u001b[1;32mwell\u001b[0m')
  expect(paint('green', 'well', false)).toBe('well')
})

test('the line of the demo is red where a rule was broken, yellow where something is missing, else green', () => {
  const figures = { rows: 1, roomsOpen: 1, roomsEnded: 0, gaps: 0, deadLetters: 0 }
  expect(progressColour(figures, 0)).toBe('green')
  expect(progressColour({ ...figures, gaps: 1 }, 0)).toBe('yellow')
  expect(progressColour({ ...figures, deadLetters: 2 }, 0)).toBe('yellow')
  expect(progressColour({ ...figures, gaps: 1 }, 1)).toBe('red')
})

test('columns of a table stand below each other whatever the names are written in, however many there are', () => {
  const names = ['Bo', '李小龙 山田', 'José', 'Jose\u0301']
  const table = textTable(
    ['name', 'n'],
    names.map(name => [name, 7]),
  )
  expect(table.slice(1)).toEqual([
    'Bo           7',
    '李小龙 山田  7',
    'José         7',
    'Jose\u0301         7',
  ])
  const many = Array.from({ length: 200_000 }, () => ['x'])
  expect(textTable(['name'], many)).toHaveLength(200_001)
})
