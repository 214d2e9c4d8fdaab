import type { Classrooms } from '../classrooms.ts'
import type { Play } from '../request-context.ts'
import type { Switches } from '../switches.ts'
import { controlPlays } from './control.ts'
import { propertyPlays } from './properties.ts'
import { recordingPlays } from './recordings.ts'
import { resourcePlays } from './resources.ts'

/** The twelve operations that change something. A refusal changes nothing. */
export function changingPlays(classrooms: Classrooms, switches: Switches): readonly Play[] {
  return [
    ...controlPlays(classrooms, switches),
    ...recordingPlays(classrooms),
    ...resourcePlays(classrooms, switches),
    ...propertyPlays(classrooms),
  ]
}
