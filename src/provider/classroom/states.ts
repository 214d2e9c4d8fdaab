/** Numbers by which the classroom document names states; source: its sections on states, events and widgets. */
export const roomStates = { notStarted: 0, started: 1, ended: 2, closed: 3 } as const

export const recordingStates = { stopped: 0, started: 1 } as const

export const extAppStates = { disabled: 0, enabled: 1 } as const

/** State of the quiz and poll widgets themselves. */
export const widgetStates = { inactive: 0, active: 1 } as const

/** `answerState` of a quiz and `pollingState` of a poll. */
export const questionStates = { ended: 0, inProgress: 1 } as const

export const pollModes = { singleChoice: 1, multipleChoice: 2 } as const

export const resourceActions = { changed: 1, deleted: 2 } as const

/** Status of an item of the recording list; the document does not show it, services of this kind use these. */
export const recordingStatuses = { recording: 1, ended: 2 } as const

/** Event types whose data the document describes. Others exist and pass. */
export const cmds = {
  roomState: 1,
  chat: 3,
  attendance: 20,
  recordingState: 1001,
  resources: 1003,
  rewards: 1101,
  stage: 1501,
  hands: 1502,
} as const
