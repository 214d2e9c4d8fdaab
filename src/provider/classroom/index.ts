import { controlOperations } from './control.ts'
import { eventOperations } from './events.ts'
import { propertyOperations } from './properties.ts'
import { recordingOperations } from './recordings.ts'
import { resourceOperations } from './resources.ts'
import { widgetOperations } from './widgets.ts'

export * from './answers.ts'
export * from './control.ts'
export * from './events.ts'
export * from './fields.ts'
export * from './properties.ts'
export * from './recordings.ts'
export * from './resources.ts'
export * from './widgets.ts'

/** The eighteen operations in the order of the document's table. */
export const classroomOperations = [
  ...controlOperations,
  ...recordingOperations,
  ...resourceOperations,
  ...eventOperations,
  ...propertyOperations,
  ...widgetOperations,
] as const
