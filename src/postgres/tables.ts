import type { Tables } from '../rows/rows.ts'
import { analyticsTables } from './tables/analytics.ts'
import { classroomTables } from './tables/classroom.ts'
import { playersTables } from './tables/players.ts'
import type { Specs } from './tables/spec.ts'

/** Every table that streams fill. */
export const tables: Specs<Tables> = { ...classroomTables, ...analyticsTables, ...playersTables }
