import { optional, ownTable, required } from './table.ts'

/** Tables of the daemon's own bookkeeping, as far as queries ask them that are written in TypeScript. */
const progress = ownTable(
  'ingest.progress',
  'How far each stream has come; moves only together with the rows it stands for',
  {
    app_id: required.text('App ID of the project'),
    stream: required.text('Stream that it is of'),
    series: required.text(
      'The room of a stream that follows rooms, the question of one whose progress is time; empty for a stream of the whole app',
    ),
    version: required.bigint('Raised by every commit; a commit that read another version writes nothing'),
    cursor: optional.text('nextId with which the last page was asked; null is the beginning'),
    stream_state: optional.json('What the stream must remember from page to page'),
    backlog_from: optional.timestamp(
      'From here on everything is backlog until it is covered or lost, for streams whose progress is time and for details of calls; null for others',
    ),
    covered: required.ranges('Time ranges that were read and can no longer change'),
    seen: required.ranges(
      'Time ranges that were read at least once; what is not covered of them may still change',
    ),
    lost: required.ranges(
      'Time ranges that were given up; each stands in ingest.gap, but for those of a time when the stream was off',
    ),
    wanted: required.ranges(
      'What someone asked for once more: ranges of time; of a room all of it, from the beginning',
    ),
    epoch: optional.bigint('Epoch of the owner that committed last'),
    updated_at: optional.timestamp('When the last page was committed; null before the first'),
    caught_up_at: optional.timestamp(
      'When the log was last read to its end, the feed last told all that waited there, or a range of time became final',
    ),
    closed_at: optional.timestamp('When syncs ended because the room is over; null while it is followed'),
    step: optional.int(
      'Seconds that one value stands for, where the provider promises one for each; null where what it serves is all there is',
    ),
    missing: required.ranges(
      'Time ranges whose values should have been in the last answer about them and were not; asked for again while they can be had, then absent in ingest.gap',
    ),
    unasked: required.ranges(
      'Of a series that is asked for only while a room or call goes on in its channel: all time when it was not, which is no backlog, and by which nothing is judged; empty of every other series',
    ),
    folded: optional.json(
      'Of the log of a room that is 400 days over: its other series, which have no rows of their own until the room is met again: by stream, when each was read to its end, when its syncs ended (Unix seconds), and its stream_state. Null of others',
    ),
  },
)

const app = ownTable('ingest.app', 'Every app of which anything is known, and where it is at home', {
  app_id: required.text('App ID of the project'),
  time_zone: required.text(
    'Time zone of its days, by its name in the IANA database; apps[].timeZone in the configuration',
  ),
  unknown_zone: optional.text(
    'Time zone that the configuration names and this Postgres does not know: its days are of UTC instead. Null where it knows it',
  ),
  user_link: required.text(
    "How a user of a classroom is found in its calls; apps[].userLink in the configuration: stream, off, or the user's ID with {uid} in it",
  ),
  updated_at: required.timestamp('When it changed last'),
})

const gap = ownTable(
  'ingest.gap',
  'What could not be had, or not yet: which range, why, and until when it can still be had',
  {
    id: required.bigint('Tells the row from others'),
    app_id: required.text('App ID of the project'),
    stream: required.text('Stream that it is of'),
    series: required.text(
      'The room of a stream that follows rooms, the call of one that reads details, the question of one whose progress is time; empty for a stream of the whole app',
    ),
    incarnation: optional.int(
      'Of the room, where the gap is in a room; null where no log can tell whose the events were',
    ),
    unit: required.text(
      'time: from range_from up to range_to; sequence: sequence_from to sequence_to, both included',
    ),
    range_from: optional.timestamp('Begin of a range of time'),
    range_to: optional.timestamp('Its end'),
    sequence_from: optional.bigint('First sequence of a range of events'),
    sequence_to: optional.bigint('Its last'),
    reason: required.text(
      "hole: skipped between neighbours of a log; room_forgotten, room_reused: the room was gone before its log, list or widget log was read to its end; unread_answer: an answer was asked for and never stored; pause: for longer than the provider remembers nobody asked, or the feed never told all; expired: left the provider's reach before it was read; unconfirmed: was read, but left the available data before it could no longer change; overflow: more in one second than the provider lists; refused: it rejects the question; too_large: its answer is too large in every size; vanished: it does not know the call; unreadable: was served to the end in no shape that can be read; not_served: values that are promised for each time and came in no answer",
    ),
    first_seen_at: required.timestamp('When it was written first'),
    recoverable_until: optional.timestamp(
      'After this moment the provider no longer has it; null where that is not known',
    ),
    state: required.text(
      'open: may still be had; repaired: was had later; absent: the provider never served it, be it a hole of a log or, with the reason not_served, values that it promises; lost: cannot be had any more',
    ),
    detail: optional.text('What the state does not cover, where there is something to say'),
    updated_at: required.timestamp('When it changed last'),
    stands_for: optional.int(
      'How many losses it stands for: of those of a room or, of time, those that touch the same days, one row is left a reason when they are 400 days old; its ranges reach from the first to the last of them, and series is that of the first. Null of one that is younger',
    ),
    extent: optional.double(
      'What the losses hold together that it stands for, seconds or sequences; null where it stands for itself alone',
    ),
  },
)

const deadLetter = ownTable(
  'ingest.dead_letter',
  'Bytes that arrived and could not be used, kept with the reason: of a stream and reason at most a thousand a day, as long as retention.deadLetters says; ingest.unkept_letter counts the others',
  {
    id: required.bigint('Tells the row from others'),
    app_id: required.text('App ID of the project'),
    stream: required.text('Stream that it is of'),
    series: required.text('Series of the stream, as in ingest.progress'),
    reason: required.text('A word of a closed set, the label of the metric too'),
    detail: optional.text('Which field broke which rule, or how the provider refused; no values'),
    body: required.bytes('The item or page as it came, secrets replaced; at most the first 64 KiB of a page'),
    content_hash: required.bytes('SHA-256 of the body: the same bytes again only raise occurrences'),
    received_at: required.timestamp('When it came first'),
    last_seen_at: required.timestamp('When it came last'),
    occurrences: required.bigint('How often it came'),
  },
)

const divergence = ownTable(
  'ingest.divergence',
  'Two answers of the provider that contradict each other: the one that was kept and the other',
  {
    id: required.bigint('Tells the row from others'),
    app_id: required.text('App ID of the project'),
    stream: required.text('Stream that it is of'),
    series: required.text('Series of the stream, as in ingest.progress'),
    key: required.text("The event's sequence, or incarnation/position of an item of a widget"),
    kept: optional.json('What the tables hold; null while they hold nothing of that key'),
    other: required.json('What was also answered'),
    seen_at: required.timestamp('When it was noticed'),
    resolved_at: optional.timestamp("When the room's log confirmed the other one; null while it waits"),
  },
)

const tally = ownTable(
  'ingest.tally',
  'How many series, items of the work queue and rooms there are, by state; kept in the statements that change them',
  {
    about: required.text(
      'series: those of ingest.progress that are closed; item: those of ingest.work_item; room: those of classroom.room that their room_uuid means now',
    ),
    app_id: required.text('App ID of the project'),
    stream: required.text('Empty of rooms'),
    state: required.text('State that is counted'),
    slot: required.int(
      'Which of the transactions that counted at one time this is the share of: the count is the sum over all slots',
    ),
    things: required.bigint('How many; may be negative in one slot'),
    seconds: required.bigint('Of items, the sum of what they ask for'),
    last_at: optional.timestamp('When the last one came to this state'),
  },
)

const ownership = ownTable(
  'ingest.ownership',
  'Who may write for a shard of apps; every commit and every debit checks the epoch. A row changes only with its owner',
  {
    shard: required.int('Share of the apps: the hash of their ID'),
    owner: required.text(
      'Process that owns it; it also holds an advisory lock on the hash of this name while it lives',
    ),
    epoch: required.bigint('Raised by whoever takes the shard; what a former owner still sends is refused'),
  },
)

const replica = ownTable(
  'ingest.replica',
  'Processes that share the shards; one that was silent for ten seconds is gone',
  {
    owner: required.text('Name of the process, as in ingest.ownership'),
    since: required.timestamp('When it came by first'),
    seen_at: required.timestamp('When it came by last; every second while it lives'),
    knows: required.ints(
      'Of how many apps of each shard it knows, from shard 0 on: a shard goes to those who know most',
    ),
  },
)

const debit = ownTable(
  'ingest.debit',
  'Every request of a group that is counted durably, written before it is sent',
  {
    scope: required.text(
      'Whose counter it is at the provider: an app, or a credential that several apps may share',
    ),
    limit_group: required.text('Operations that share a counter'),
    n: required.bigint('Counts from 1 without gaps within (scope, limit_group)'),
    app_id: required.text('The app that asked, whoever it shares the counter with'),
    operation: required.text(
      'Operation of the provider; the words lost history for a request that may have been debited where this history does not reach',
    ),
    purpose: optional.text(
      'What it was for: new data, what went wrong before, what may have changed, what is long past; null of what is only assumed',
    ),
    epoch: required.bigint('Epoch of the owner that sent it; one of an earlier owner can no longer commit'),
    sent_at: required.timestamp(
      'Budget time before it was sent: the clock, unless that was seen to jump; never before that of an earlier debit',
    ),
    dead_at: required.timestamp(
      'After this moment the request can no longer reach the provider; never before that of an earlier debit',
    ),
    settled_at: optional.timestamp(
      'When the answer had arrived, in budget time; null for a request whose end nobody saw',
    ),
    outcome: optional.text(
      'committed: its page is stored; refused: the provider did nothing; unread: it may have handed out events that were not stored',
    ),
    gap_id: optional.bigint('Row of the gap ledger that stands for this unread answer'),
    told_all: optional.boolean(
      'Of the feed of an app: whether its answer held all that waited there; false where it may have held back more. Null of others',
    ),
  },
)

const budget = ownTable(
  'ingest.budget',
  'Head of the debits of one limit group: the row that is locked before the clock is read',
  {
    scope: required.text(
      'Whose counter it is at the provider: an app, or a credential that several apps may share',
    ),
    limit_group: required.text('Operations that share a counter'),
    last_n: required.bigint('Number of the last debit'),
    last_sent_at: required.timestamp('Budget time of the last debit'),
    clock_at: required.timestamp(
      'The clock at the last debit, corrected when it was seen to jump. Budget time moves on by how far the clock has come since',
    ),
    history: optional.text(
      'Mark of the history in which it was last debited; in another one debits may be missing',
    ),
  },
)

export const ownTables = [
  app,
  progress,
  gap,
  deadLetter,
  divergence,
  tally,
  ownership,
  replica,
  debit,
  budget,
]
