import { choice, quantity } from '../switch.ts'

/** What the document of the call analytics leaves open. */
export const analyticsSwitches = {
  callSearch: choice(
    'overlap',
    ['overlap', 'start'],
    'which calls a search matches: those that go on in the range, or those that start in it',
  ),
  hasMore: choice(
    'forced',
    ['real', 'forced', 'omitted'],
    'has_more: whether calls follow beyond the page; forced also says true under load, whatever is listed; omitted: only whether calls are on no page at all',
  ),
  hasMoreAbove: quantity(500, 'calls', 'a search that matches more than these is under load'),
  hasMoreRate: quantity(0, 'share from 0 to 1', 'further searches that are under load'),
  hasMoreFloorSeconds: quantity(60, 'seconds', 'a search of a range up to this long is never under load'),
  callLatenessSeconds: quantity(5, 'seconds', 'a call appears in the search up to this long after its start'),
  callEnd: choice(
    'present',
    ['present', 'absent', 'at-times'],
    'whether the search tells when a call that is over ended, or only that it is over; at-times: of every other call',
  ),
  openStayEnd: choice(
    'now',
    ['now', 'absent', 'at-times'],
    'leave_ts of a session that goes on: the moment of the answer, or none; at-times: none of every other session',
  ),
  staysAsOf: choice(
    'answer',
    ['answer', 'question'],
    'whether sessions are told as they stand when they are asked about, or as they stood at the end of what is asked about',
  ),
  callListPages: quantity(100, 'pages', 'pages of a search that are served; those beyond are empty'),
  mostPerPage: quantity(
    100,
    'entries',
    'a page of calls or sessions holds no more, whatever is asked; its page_size says how many',
  ),
  totalSize: choice(
    'page',
    ['page', 'all'],
    'what total_size of calls and sessions counts: those on the page, or those on all pages',
  ),
  sessionPages: choice('empty', ['empty', 'refused'], 'what a page of sessions behind the last one is'),
  serverFilter: choice(
    'before-paging',
    ['before-paging', 'after-paging'],
    'when users on Linux are left out; after paging: of each page of sessions, which may then be short or empty',
  ),
  callSlices: choice(
    'served',
    ['served', 'refused'],
    'whether a part of a call may be read, or only the whole of it',
  ),
  metricsEnd: choice(
    'inclusive',
    ['inclusive', 'exclusive'],
    'whether values of the last second that is asked for are among the metrics of sessions',
  ),
  emptyLists: choice(
    'array',
    ['array', 'null', 'absent'],
    'how a list without items is said; absent where a count beside it says 0, else by an empty array',
  ),
  kvs: choice(
    'pairs',
    ['pairs', 'objects', 'triples', 'words'],
    'a value of a metric of a session: [time, value], {k, v}, [time, value] with a third element behind, or a text',
  ),
  ownPeer: choice('zero', ['zero', 'absent'], 'peer_uid of the metrics of the session itself'),
  unknownFields: choice(
    'absent',
    ['absent', 'present'],
    'whether entries of insights, real-time values and metrics of sessions have a field that no document names',
  ),
  metricSeconds: quantity(2, 'seconds', 'between two values of a metric of a session, at least 1'),
  limitStatus: choice('200', ['200', '300', '400', '429'], 'HTTP status beside code 300'),
  limitsOutsideSearch: choice(
    '300',
    ['300', '429'],
    'how other endpoints than the search refuse what goes beyond a limit: code 300, or HTTP 429 without it',
  ),
  successCode: choice('200', ['200', '0'], 'code of an answer that succeeded'),
  successMessage: choice('text', ['text', 'null'], 'message of an answer that succeeded'),
  counters: choice(
    'separate',
    ['separate', 'shared'],
    'whether sessions and metrics count together, and likewise both real-time endpoints',
  ),
  countersPer: choice('app', ['app', 'credential'], 'what requests are counted for'),
  day: choice('rolling', ['rolling', 'utc-calendar'], 'which day the requests per day belong to'),
  limiter: choice('sliding', ['sliding', 'fixed'], 'which second or minute the requests are counted in'),
  restatement: choice('on', ['off', 'on'], 'whether insight values are computed again later'),
  restatementHours: quantity(48, 'hours', 'after the end of its time an insight value is computed again'),
  missingValues: quantity(
    0,
    'share from 0 to 1',
    'entries of insights and real-time metrics that are never served, although one is promised for each time',
  ),
  missingEntries: choice(
    'absent',
    ['absent', 'null'],
    'how an entry of insights and real-time metrics is told that is not served, or not yet: not at all, or with null for its value',
  ),
  valueEntries: choice(
    'once',
    ['once', 'around', 'twice'],
    'entries of insights and real-time metrics; around: of times before and behind the frame too; twice: each with another value before it',
  ),
  lateValueSeconds: quantity(
    0,
    'seconds',
    'an entry of insights and real-time metrics is served up to this long after the delay of the plan',
  ),
  tightHours: quantity(
    0,
    'share from 0 to 1',
    'hours of an app in which a limit group serves half of the available data and of the time frame, with twice the delay',
  ),
  realtimeEnd: choice(
    'exclusive',
    ['exclusive', 'inclusive'],
    'whether the window that contains the end of a real-time range is served',
  ),
  realtimeUid: choice('number', ['number', 'string'], 'type of uid in real-time values of users'),
  usersOutsideChannels: choice(
    'served',
    ['served', 'refused'],
    'whether real-time values of users may be asked for without a channel',
  ),
  realtimeUsers: choice(
    'users',
    ['users', 'with-channel'],
    'what an answer about users tells: of them alone, or of the channel too',
  ),
} as const
