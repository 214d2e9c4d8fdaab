import { expect, test } from 'vitest'
import { frame } from '../../src/commands/status.ts'
import { situations } from '../telemetry/page/situations.ts'

test('a frame of status --watch begins with the verdict, whole, and fits the terminal', () => {
  const lines = frame(situations.losing.status, { columns: 60, rows: 20 })
  expect(lines.slice(0, 3).join('').replaceAll(/ +/g, ' ')).toContain(
    'LOSING Data was lost within the last 24 hours: 3 ranges of realtime-usage (not read in time)',
  )
  expect(lines.length).toBeLessThan(20)
  expect(lines.filter(line => line.length > 60)).toEqual([])
})

test('a frame of status --watch shows budgets as bars, with their pace', () => {
  const lines = frame(situations.healthy.status, { columns: 100, rows: 50 })
  expect(lines).toContain('call-details     ############........  62 %  1.4 times an even pace')
  expect(lines.join()).not.toContain('\u001b')
})
