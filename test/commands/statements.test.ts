import { describe, expect, it } from 'vitest'
import { pointTo } from '../../src/commands/sql.ts'
import { split, statementsOf } from '../../src/postgres/sql-text.ts'

describe('statements', () => {
  it.each([
    ['end with semicolons, the last need not', 'select 1;select 2', ['1 select 1', '1 select 2']],
    [
      'begin with their first word',
      '\n-- a;\n/* b;\n; */ select 1;\n\n;;\nselect 2;\n',
      ['4 select 1', '7 select 2'],
    ],
    [
      'hold semicolons in strings and names',
      `select ';', "a;""b", 'it''s;', E'\\';', 'x\\'; select 2`,
      [`1 select ';', "a;""b", 'it''s;', E'\\';', 'x\\'`, '1 select 2'],
    ],
    [
      'hold semicolons in what dollars enclose',
      'do $$ begin; end $$; do $a$ $$; $a$; select a$b$ ; select $1',
      ['1 do $$ begin; end $$', '1 do $a$ $$; $a$', '1 select a$b$', '1 select $1'],
    ],
    ['hold comments', 'select 1 -- one;\n + 1; select 2', ['1 select 1 -- one;\n + 1', '2 select 2']],
    ['are none in a comment', '-- nothing;\n /* ; */ ', []],
  ])('%s', (_, text, expected) => {
    expect(statementsOf(text).map(one => `${one.line} ${one.text}`)).toEqual(expected)
  })

  it.each([`select ';`, `select ";`, 'do $$ ;', 'select /* ;', '/* ;', `select e'\\';`])(
    'are open while something in them is: %s',
    text => {
      expect(split(`select 1;\n${text}`, 5)).toEqual({
        statements: [{ text: 'select 1', line: 5 }],
        rest: text,
        restLine: 6,
      })
    },
  )
})

describe('the place that Postgres tells', () => {
  it('is under the sign, in signs and in the columns of a terminal', () => {
    const text = `select\n\t'漢字😀', x\nfrom y`
    expect(pointTo({ text, line: 3 }, [...text].indexOf('x') + 1)).toBe(
      `LINE 4:  '漢字😀', x\n${' '.repeat(8 + 10)}^`,
    )
  })

  it('may be behind the last sign', () => {
    expect(pointTo({ text: 'select (', line: 1 }, 9)).toBe('LINE 1: select (\n                ^')
  })
})
