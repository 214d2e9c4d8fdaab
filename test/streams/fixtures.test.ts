import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { streams } from '../../src/streams/index.ts'
import type { Page, WindowPage } from '../../src/streams/page.ts'
import type { StreamName } from '../../src/streams/stream.ts'
import type { Json } from '../../src/tables/json.ts'
import { type ShippedName, streamNames } from '../support/streams.ts'
import { detailPageOf, fixture, fixtureCases, fixtureStreams, pageOf, windowPageOf } from './pages.ts'

const Input = z.strictObject({ streamState: z.unknown().optional(), page: z.looseObject({}) })
const Expected = z.looseObject({
  rows: z.record(z.string(), z.array(z.unknown())),
  rejects: z.array(z.tuple([z.string(), z.string()])).optional(),
})

/** JSON has no undefined: null stands for a clock or a nextId that the answer did not have. */
function pageFrom(parts: Partial<Page>): Page {
  return pageOf({
    ...parts,
    nextId: parts.nextId ?? undefined,
    ...(parts.answeredAt === null && { answeredAt: undefined }),
  })
}

function windowPageFrom(parts: Partial<WindowPage>): WindowPage {
  return windowPageOf({ ...parts, ...(parts.details === null && { details: undefined }) })
}

function nonEmpty(rows: object): object {
  return Object.fromEntries(Object.entries(rows).filter(([, of]) => of.length > 0))
}

function harvested(name: StreamName, input: Json) {
  const { streamState, page } = Input.parse(input)
  const stream = streams[name as ShippedName]
  const stored = (streamState ?? null) as Json
  switch (stream.kind) {
    case 'window':
      return stream.toRows(windowPageFrom(page))
    case 'substream':
      return stream.toRows(detailPageOf(page), stored)
    default:
      return stream.toRows(pageFrom(page), stored)
  }
}

for (const name of streamNames) {
  describe(`${name} makes of a page`, () => {
    it.each(fixtureCases(name))('%s', caseName => {
      const { input, expected } = fixture(name, caseName)
      const { rows, rejects, ...rest } = Expected.parse(expected)
      const toRows = harvested(name, input)

      expect(nonEmpty(toRows.rows)).toEqual(rows)
      for (const [field, value] of Object.entries(rest)) {
        expect({ [field]: Reflect.get(toRows, field) ?? null }).toEqual({ [field]: value })
      }
      if (rejects)
        expect(toRows.rejects.map(({ reason, detail }) => [reason, fieldOf(detail)])).toEqual(rejects)
    })
  })
}

/** A detail names the field before a colon; what is wrong with the item as a whole names none. */
function fieldOf(detail: string): string {
  return /^([\w.]+): /.exec(detail)?.[1] ?? ''
}

it('every stream has at least four fixtures, and every fixture a stream', () => {
  expect([...fixtureStreams()].sort()).toEqual([...streamNames].sort())
  for (const name of streamNames) expect(fixtureCases(name).length).toBeGreaterThanOrEqual(4)
})
