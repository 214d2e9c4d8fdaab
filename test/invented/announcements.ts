import { z } from 'zod'
import { listOf, ofClassroom } from '../../src/provider/classroom/answers.ts'
import { region } from '../../src/provider/classroom/fields.ts'
import type { Operation } from '../../src/provider/operation.ts'
import { duration } from '../../src/settings/values.ts'
import type { Page, PageResult } from '../../src/streams/page.ts'
import { appCadence } from '../../src/streams/parts/cadence.ts'
import { fieldsWithout, judgeEach } from '../../src/streams/parts/items.ts'
import type { SnapshotStream } from '../../src/streams/stream.ts'
import { optional, type RowOf, required, table } from '../../src/tables/table.ts'

/** A stream of one's own: an operation that no contract has, with its table. CONTRIBUTING.md takes the same steps. */

const Item = z.looseObject({ announcementId: z.string().min(1), text: z.string() })

const operation = {
  ...ofClassroom,
  ...listOf(Item, 'announcementId'),
  name: 'announcements',
  summary: 'Lists what the school has announced',
  method: 'GET',
  path: '/{region}/edu/apps/{appId}/v2/announcements',
  pathParams: { region, appId: z.string() },
  queryParams: { nextId: z.string().optional() },
} as const satisfies Operation

const announcement = table('classroom.announcement', 'What the school has announced', {
  within: 'app',
  key: { announcement_id: required.text('Its ID') },
  columns: {
    text: required.text('What it says'),
    extra: optional.json('Fields that have no column here, as they came'),
  },
  onConflict: 'replace',
})

declare module '../../src/tables/index.ts' {
  interface Tables {
    readonly 'classroom.announcement': RowOf<typeof announcement>
  }
}

export const announcements: SnapshotStream = {
  kind: 'snapshot',
  name: 'announcements',
  title: 'What the school has announced',
  operation,
  writes: [announcement],
  read: operation.readBatch,
  source: 'list',
  scope: 'app',
  ...appCadence(duration('500ms', '1h').prefault('500ms').describe('How often the list is read.')),
  request: cursor => (cursor === null ? {} : { nextId: cursor }),
  toRows,
}

const columns = new Set(['announcementId', 'text'])

function toRows(page: Page): PageResult {
  const { good, rejects } = judgeEach(Item, page.items)
  const rows = good.map(({ value, raw }) => {
    return { announcement_id: value.announcementId, text: value.text, extra: fieldsWithout(columns, raw) }
  })
  return {
    rows: { 'classroom.announcement': rows },
    ...{
      streamState: null,
      room: { kind: 'current' },
      follow: 'next',
      rejects,
      hints: [],
      unfinished: false,
    },
  }
}
