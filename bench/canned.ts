/**
 * The provider as a process of its own that copies bytes and does nothing else: `canned.ts ROOMS EVENTS_PER_ROOM HOURS_AGO [STREAM...]`
 * has the sandbox render every answer of these streams, or of all, to a backlog, prints an address, and then serves them over plain sockets. In each round it says
 * `first N` when it serves the first answer that has events and `all N` when each of them was served once; a request to
 * `/round/N` begins another one. Of what nobody rendered, other apps above all, there is nothing to tell.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { streams } from '../src/streams/index.ts'
import { ofRooms, openBacklog } from './answers.ts'

interface Batch {
  readonly data?: { readonly nextId?: string | null } | readonly { readonly roomUuid: string }[] | null
}

const separator = '\r\n\r\n'

const [rooms, eventsPerRoom, hoursAgo] = process.argv.slice(2, 5).map(Number)
const wanted = process.argv.slice(5)
const { targetOf, answer: render } = openBacklog(rooms!, eventsPerRoom!, hoursAgo!)
const answers = new Map<string, Buffer>()
const feed = targetOf(streams['app-events'], {})
const told = rooms === 0 ? {} : await rendered(feed)
for (const room of new Set(Array.isArray(told.data) ? told.data.map(event => event.roomUuid) : [])) {
  for (const stream of ofRooms) {
    if (wanted.length > 0 && !wanted.includes(stream.name)) continue
    let cursor: string | null = null
    do {
      const { data } = await rendered(targetOf(stream, { roomUuid: room, ...stream.request(cursor) }))
      cursor = (data && 'nextId' in data && data.nextId) || null
    } while (cursor !== null)
  }
}
const quiet = Buffer.from(JSON.stringify({ code: 0, msg: 'Success', data: [] }))
const feedAnswer = answers.get(feed) ?? quiet
let unread = new Set(answers.keys())
let round = '1'
let head = ''
stampHeads()
setInterval(stampHeads, 1_000).unref()

const server = createServer({ noDelay: true }, socket => serve(socket))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
say(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

/** Has the sandbox answer, keeps the bytes, and tells what is in them. */
async function rendered(target: string): Promise<Batch> {
  const body = await render(target)
  answers.set(target, body)
  return JSON.parse(body.toString('utf8')) as Batch
}

function stampHeads(): void {
  head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ndate: ${new Date().toUTCString()}\r\ncontent-length: `
}

function serve(socket: Socket): void {
  let waiting = ''
  socket.on('error', () => {})
  socket.on('data', chunk => {
    waiting += chunk.toString('latin1')
    for (let end = waiting.indexOf(separator); end >= 0; end = waiting.indexOf(separator)) {
      answer(socket, waiting.slice(4, waiting.indexOf(' HTTP')))
      waiting = waiting.slice(end + separator.length)
    }
  })
}

function answer(socket: Socket, target: string): void {
  if (target.startsWith('/round/')) begin(target.slice('/round/'.length))
  const body = target.startsWith('/round/') ? undefined : (answers.get(target) ?? quiet)
  // Everything else may be asked about anew; the feed tells it once.
  if (target === feed) answers.set(feed, quiet)
  socket.cork()
  socket.write(`${head}${body ? body.length : 0}${separator}`)
  if (body) socket.write(body)
  socket.uncork()
  if (target === feed && body !== quiet) say(`first ${round}`)
  if (unread.delete(target) && unread.size === 0) say(`all ${round}`)
}

function begin(name: string): void {
  round = name
  unread = new Set(answers.keys())
  answers.set(feed, feedAnswer)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
