import { optional, type RowOf, required, table, telling } from './table.ts'

/** Where the time in `at` comes from: the event itself, its neighbour in the log, the next one in the feed, the answer, or our clock. */
export type AtSource = 'event' | 'neighbour' | 'next' | 'provider' | 'received'

/** `add` and `remove` are the event's changes; `present` are those of its full list who are not among them. */
export type MembershipAction = 'add' | 'remove' | 'present'

export type Widget = 'popupQuiz' | 'poll'

const inEvent = { sequence: required.bigint('Order of the events within the room, given by the provider') }
const inEventItem = { ...inEvent, ordinal: required.int("Place in the event's list, from 0") }
const beside = { extra: optional.json('Fields that have no column here, as they came') }
const ofEvent = { at: required.timestamp('When it happened, as well as can be known'), ...beside }

const ofPerson = { ...ofEvent, extra: telling('person', ofEvent.extra) }
const ofAnyone = {
  ...ofPerson,
  user_uuid: telling('user', optional.text('Null of one who is told without an ID')),
}
const ofChat = { ...ofEvent, extra: telling('chat', ofEvent.extra) }

/** What is told of a file in a room, by events and by lists. */
const ofFile = {
  resource_name: optional.text('Name of the file'),
  ext: optional.text("Extension of the file's name"),
  size: optional.double('Bytes'),
  url: optional.text('Address of the file'),
  task_uuid: optional.text('Task that converts the file for the whiteboard; null where none was begun'),
  task_progress: optional.json('How far that task is, as the provider says it'),
}

/** What events tell: the first sight of one is nearest to when it happened, so its time stays. */
const byEvents = { within: 'room', onConflict: 'replace', except: { at: 'keep' } } as const

export const room = table(
  'classroom.room',
  'One classroom; the same room_uuid used again later is another incarnation of it',
  {
    within: 'room',
    key: {},
    columns: {
      state: optional.int(
        '0 not started, 1 started, 2 ended, 3 closed; null while no state change has been seen',
      ),
      state_sequence: optional.bigint('Sequence of the event that state comes from'),
      started_at: optional.timestamp('When the class started, by its changes of state'),
      ended_at: optional.timestamp(
        'When it ended; null while it goes on. Of a log that was read late the time of the last event before that has one: where that is the start nobody knows, and classroom.class has null',
      ),
      ended_by: optional.timestamp(
        'When the log first told an end that has no time of its own, where ended_at is that of an event before it: what was read of the room since has all of the class; null otherwise',
      ),
      last_event_at: optional.timestamp('When the room last showed life'),
    },
    given: {
      first_event_at: optional.timestamp('Time of the first event of the page, which becomes valid_from'),
      late_ends: optional.json('Times that ends on the page have from events before them'),
    },
    made: {
      region: optional.text('Region whose feed named the room, or in which its log was read last'),
      valid_from: optional.timestamp('The room_uuid means this incarnation from here ...'),
      valid_to: optional.timestamp('... to here; null while it is the latest'),
      first_seen_at: required.timestamp('When the room was met first, our clock'),
      verified_at: required.timestamp(
        'From here on the provider means this incarnation for as long as it remembers an ended room',
      ),
      forgotten_at: optional.timestamp(
        'When the provider first answered that the room does not exist; null again once it serves the log',
      ),
      unread: optional.json(
        'Streams that had not been read to their end since its end, or its last sign of life, when the room_uuid was used again; null of the latest, and where there is none',
      ),
      emptied_at: optional.timestamp('When retention took what happened in it; null until then'),
      emptied: optional.json(
        'By what it is judged since: how many events there were, how many only the feed had shown, whether its log had told its state, and what its recordings lacked',
      ),
    },
    onConflict: 'merge',
  },
)
export type RoomRow = RowOf<typeof room>

export const roomEvent = table(
  'classroom.room_event',
  'Every event of every room as it came, known kinds and unknown ones',
  {
    within: 'room',
    key: inEvent,
    columns: {
      ...ofEvent,
      cmd: required.int(
        '1 room state, 3 chat, 20 enter and leave, 1001 recording, 1003 resources, 1101 rewards, 1501 stage, 1502 hands; others are kept too',
      ),
      version: optional.int("Version of the event's format, as the provider says it"),
      data: optional.json(
        "The event's own data; NUL and lone surrogates are written as U+001A and four hex digits, tokens are replaced by a mark",
      ),
      event_time: optional.timestamp("The provider's time inside the event, where it has one"),
      at_source: required.text<AtSource>(
        'Where "at" comes from: event (its own time), neighbour (the last event before it that has one), next (one behind it in the feed that has one, where it was heard late), provider (when it was served), received (our clock)',
      ),
      received_at: required.timestamp('When it arrived, our clock'),
    },
    made: {
      source: required.text("feed: seen in the app's feed only so far; log: confirmed by the room's log"),
    },
    onConflict: 'keep',
  },
)
export type RoomEventRow = RowOf<typeof roomEvent>

export const roomStateChange = table(
  'classroom.room_state_change',
  'A class was made ready, started, ended or closed',
  {
    ...byEvents,
    key: inEvent,
    columns: {
      ...ofEvent,
      state: required.int('0 not started, 1 started, 2 ended, 3 closed'),
      started_at: optional.timestamp('Start of the class, where the event tells it'),
    },
  },
)
export type RoomStateChangeRow = RowOf<typeof roomStateChange>

const chatMessage = table('classroom.chat_message', 'Chat of the room, one row a message', {
  ...byEvents,
  key: inEvent,
  columns: {
    ...ofChat,
    user_uuid: telling('user', optional.text('Null of one who is told without an ID')),
    user_name: telling('name', optional.text('Name as it was told with it')),
    role: optional.text('As the provider says it: a number or a word'),
    message: telling('chat', optional.text('Text of the message; empty where it is not kept')),
    type: optional.int('1 is text, the only documented one'),
  },
})

export const attendance = table(
  'classroom.attendance',
  'People entering and leaving; classroom.attendance_interval makes spans of it',
  {
    ...byEvents,
    key: inEventItem,
    columns: {
      ...ofPerson,
      user_uuid: telling(
        'user',
        optional.text(
          'Null of one who is told without an ID, or with one that cannot be read: that one is in extra',
        ),
      ),
      user_name: telling('name', optional.text('Name as it was told with it')),
      role: optional.text('As the provider says it: a number or a word'),
      stream_uuid: telling('uid', optional.text('Stream of what the user sends')),
      action: optional.text<'enter' | 'leave'>('enter or leave; null of an event that names nobody'),
      total: optional.int(
        'Users who have entered and left, as the event counts them: the same in each row of an event; one that names nobody has a row without a user',
      ),
    },
  },
)
export type AttendanceRow = RowOf<typeof attendance>

const recordingStateChange = table(
  'classroom.recording_state_change',
  'A recording started (state 1) or stopped (0 or 2)',
  {
    ...byEvents,
    key: inEvent,
    columns: {
      ...ofEvent,
      state: required.int('1 started, 0 or 2 stopped; no other is known'),
      record_id: optional.text('A stop names none: it belongs to the recording started last'),
      sid: optional.text("The recording service's own ID"),
      resource_id: optional.text("The recording service's ID of the resource"),
      started_at: optional.timestamp('Start of the recording, where the event tells it'),
    },
    onConflict: 'merge',
  },
)
export type RecordingStateChangeRow = RowOf<typeof recordingStateChange>

const reward = table('classroom.reward', 'Rewards given: the change and the new total of one user', {
  ...byEvents,
  key: inEventItem,
  columns: {
    ...ofAnyone,
    changed_reward: optional.double('Points given; below 0 where they were taken'),
    total: optional.double('Points of the user after it'),
  },
})

export const resourceChange = table(
  'classroom.resource_change',
  'Public resources added, changed (upsert) or deleted, and by whom',
  {
    ...byEvents,
    key: inEventItem,
    columns: {
      ...ofEvent,
      resource_uuid: required.text("The provider's ID of the file"),
      action: required.text<'upsert' | 'delete' | 'unknown'>('upsert (added or changed), delete, or unknown'),
      ...ofFile,
      operator_uuid: telling(
        'user',
        optional.text('Null of one who is told without an ID, as the service itself may be'),
      ),
      operator_name: telling('name', optional.text('Name of who did it')),
      operator_role: optional.text('Role of who did it'),
    },
  },
)
export type ResourceChangeRow = RowOf<typeof resourceChange>

const stageChange = table(
  'classroom.stage_change',
  'Users brought on the stage (add) or taken off it (remove), and all others who are there (present)',
  {
    ...byEvents,
    key: inEventItem,
    columns: {
      ...ofAnyone,
      action: required.text<MembershipAction>('add, remove or present'),
      is_listed: optional.boolean(
        'Whether the event lists the user among all who are on the stage after it; null where it lists none, or cannot tell',
      ),
    },
  },
)

const handWave = table(
  'classroom.hand_wave',
  'Hands raised (add) and lowered (remove), and all others that are up (present)',
  {
    ...byEvents,
    key: inEventItem,
    columns: {
      ...ofAnyone,
      action: required.text<MembershipAction>('add, remove or present'),
      is_listed: optional.boolean(
        'Whether the event lists the user among all whose hands are up after it; null where it lists none, or cannot tell',
      ),
      payload: telling('person', optional.json('What the event says of the hand besides')),
    },
  },
)

export const widgetEvent = table('classroom.widget_event', 'Items of the quiz and poll logs as they came', {
  within: 'room',
  key: {
    widget: required.text<Widget>('popupQuiz or poll'),
    position: required.bigint("The item's own sequence where it has one, else its place in the log from 0"),
  },
  columns: {
    content_hash: required.text('SHA-256 of the item, hex'),
    data: required.json('The item as it came; written as room_event.data is'),
    received_at: required.timestamp('When it arrived, our clock'),
  },
  made: {
    state: optional.int('State of the widget, where the item tells a change of it: 0 inactive, 1 active'),
    cause: optional.text("Why it changed, in the provider's words; null where that is no text"),
    action: optional.int('Type of action, a number that no document explains'),
  },
  onConflict: 'keep',
})
export type WidgetEventRow = RowOf<typeof widgetEvent>

const inQuiz = { quiz_id: required.text("The provider's ID of the quiz") }
const inPoll = { poll_id: required.text("The provider's ID of the poll") }
const inRecording = { record_id: required.text("The provider's ID of the recording") }

export const quiz = table('classroom.quiz', 'A pop-up quiz with its latest summary', {
  within: 'room',
  key: inQuiz,
  columns: {
    correct_items: optional.json('Right answers'),
    items: optional.json('Answers to choose from'),
    correct_count: optional.int('Students whose answer was right'),
    selected_count: optional.int('Students who answered'),
    total_count: optional.int('Students who could answer'),
    average_accuracy: optional.double(
      'As the provider gives it: 0 also where nobody answered; classroom.quiz_result.accuracy counts the answers',
    ),
    state: optional.text<'running' | 'ended'>('running or ended'),
    started_at: optional.timestamp('When students got it'),
    ended_at: optional.timestamp('When it ended; null while it runs, and where nothing tells when'),
    started_by: telling('user', optional.text('User who started it; null where no item tells')),
    ...beside,
  },
  onConflict: 'merge',
})
export type QuizRow = RowOf<typeof quiz>

export const quizSubmission = table(
  'classroom.quiz_submission',
  'Every answer to a quiz; a user may answer again',
  {
    within: 'room',
    key: {
      ...inQuiz,
      user_uuid: telling('user', required.text('Empty of one who is told without an ID')),
      ordinal: required.bigint("Place in the log: of a user's answers the last has the highest"),
    },
    columns: {
      user_name: telling('name', optional.text('Name as it was told with it')),
      selected_items: optional.json('Answers chosen'),
      is_correct: optional.boolean('Whether they were the right ones, as the provider says'),
      committed_at: optional.timestamp('When they were given'),
      ...beside,
    },
    onConflict: 'replace',
  },
)
export type QuizSubmissionRow = RowOf<typeof quizSubmission>

export const poll = table('classroom.poll', 'A poll', {
  within: 'room',
  key: inPoll,
  columns: {
    mode: optional.int('1 single choice, 2 multiple choice'),
    items: optional.json('Options to choose from'),
    state: optional.text<'running' | 'ended'>('running or ended'),
    started_at: optional.timestamp('When it started'),
    ended_at: optional.timestamp('When it ended; null while it runs, and where nothing tells when'),
    started_by: telling('user', optional.text('User who started it; null where no item tells')),
    ...beside,
  },
  onConflict: 'merge',
})
export type PollRow = RowOf<typeof poll>

export const pollSubmission = table('classroom.poll_submission', 'Every vote; a user may vote again', {
  within: 'room',
  key: {
    ...inPoll,
    user_uuid: telling('user', required.text('Empty of one who is told without an ID')),
    ordinal: required.bigint("Place in the log: of a user's votes the last has the highest"),
  },
  columns: {
    user_name: telling('name', optional.text('Name as it was told with it')),
    select_index: optional.ints(
      'Options chosen, from 0; null where they are told in a way that cannot be read: then they are in extra',
    ),
    at: optional.timestamp('When the vote was given; null where no item tells'),
    ...beside,
  },
  onConflict: 'replace',
  except: { at: 'merge' },
})
export type PollSubmissionRow = RowOf<typeof pollSubmission>

export const pollTally = table('classroom.poll_tally', 'Latest count of each option of a poll', {
  within: 'room',
  key: {
    ...inPoll,
    option_index: required.int("Place of the option in the poll's items, from 0"),
  },
  columns: {
    num: optional.int('Votes for it'),
    percentage: optional.double('Share of those who voted, as the provider gives it'),
  },
  onConflict: 'replace',
})
export type PollTallyRow = RowOf<typeof pollTally>

export const recording = table(
  'classroom.recording',
  'Recordings as listed last; read again until they have ended and have their files',
  {
    within: 'room',
    key: inRecording,
    columns: {
      sid: optional.text("The recording service's own ID"),
      resource_id: optional.text("The recording service's ID of the resource"),
      type: optional.int('1 individual, 2 composite, 3 web page'),
      status: optional.int('1 recording, 2 ended'),
      started_at: optional.timestamp('When it started'),
      ended_at: optional.timestamp('When it ended; null while it runs'),
      url: optional.text('Address of the whole recording, of one that has one'),
      ...beside,
    },
    onConflict: 'merge',
  },
)
export type RecordingRow = RowOf<typeof recording>

export const recordingFile = table('classroom.recording_file', 'Files of a recording', {
  within: 'room',
  key: {
    ...inRecording,
    ordinal: required.int(
      'Number of the file within the recording, from 0, in the order in which they were listed first',
    ),
  },
  columns: {
    url: required.text('Address of the file'),
    removed_at: optional.timestamp(
      "When a list no longer named it, by the provider's clock; null while it is listed",
    ),
    ...beside,
  },
  onConflict: 'replace',
  except: { extra: 'merge' },
})
export type RecordingFileRow = RowOf<typeof recordingFile>

export const resource = table('classroom.resource', 'Public resources as listed last', {
  within: 'room',
  key: { resource_uuid: required.text("The provider's ID of the file") },
  columns: {
    ...ofFile,
    updated_at: optional.timestamp("When the file was changed last, by the provider's clock"),
    removed_at: optional.timestamp(
      "When a complete listing no longer named it, by the provider's clock; null while it is listed",
    ),
    ...beside,
  },
  onConflict: 'merge',
  except: { removed_at: 'replace' },
})
export type ResourceRow = RowOf<typeof resource>

/** Tables that a page of events fills: the room, each event as it came, and what kinds of events tell. */
export const eventTables = [
  room,
  roomEvent,
  roomStateChange,
  chatMessage,
  attendance,
  recordingStateChange,
  reward,
  resourceChange,
  stageChange,
  handWave,
]

export const classroomTables = [
  ...eventTables,
  widgetEvent,
  quiz,
  quizSubmission,
  poll,
  pollSubmission,
  pollTally,
  recording,
  recordingFile,
  resource,
]
