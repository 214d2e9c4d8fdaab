import type { Socket } from 'node:net'
import { setInterval as every } from 'node:timers'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Reply } from '../../src/engine/ports.ts'
import { canaryToken, emptyPage, readRoom, setUp } from './harness.ts'
import { framed, startRawServer } from './raw-server.ts'

const megabyte = 1_048_576

function failureOf(reply: Reply) {
  if (reply.ok) throw new Error('this should have been a failure')
  return reply.failure
}

describe('a server that misbehaves', () => {
  it.each([301, 302, 303, 307, 308])('cannot send us elsewhere with HTTP %i', async status => {
    const canary = await startRawServer(socket => socket.write(framed(emptyPage)))
    const { server, transport } = await setUp(socket => {
      socket.write(framed('moved', `${status} Moved`, [`location: ${canary.url}/stolen`]))
    })
    const failure = failureOf(await transport.send('app1', readRoom))
    await canary.close()
    expect(failure).toMatchObject({ kind: 'redirect', status })
    expect([server.requests.length, canary.connections()]).toEqual([1, 0])
    expect(failure.text).not.toContain('stolen')
  })

  it('that drips byte by byte is stopped by the total deadline alone', async () => {
    const { transport } = await setUp(
      socket => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
        const drip = every(() => socket.write(' '), 50)
        socket.on('close', () => clearInterval(drip))
      },
      { limits: { total: 400, idle: 200 } },
    )
    const reply = await transport.send('app1', readRoom)
    expect(failureOf(reply)).toMatchObject({
      kind: 'timeout',
      text: 'no whole answer within the total deadline',
    })
    expect(reply.timing.elapsed).toBeGreaterThan(350)
    expect(reply.timing.elapsed).toBeLessThan(2_000)
  })

  it('that never answers is given up by the time allowed for headers', async () => {
    const { transport } = await setUp(() => {}, { limits: { headers: 200, total: 5_000 } })
    expect(failureOf(await transport.send('app1', readRoom))).toMatchObject({
      kind: 'timeout',
      text: expect.stringMatching(/^no headers within the time allowed \(127\.0\.0\.1:\d+\)$/),
    })
  })

  it('that stops in the middle of a body is given up by the idle time', async () => {
    const { transport } = await setUp(
      socket => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"code"'),
      { limits: { idle: 200, total: 5_000 } },
    )
    expect(failureOf(await transport.send('app1', readRoom))).toMatchObject({
      kind: 'timeout',
      text: expect.stringMatching(/^the body stood still for too long /),
    })
  })

  it('is let go at once when the caller cancels', async () => {
    const cancel = new AbortController()
    const { transport } = await setUp(() => cancel.abort())
    const failure = failureOf(await transport.send('app1', readRoom, cancel.signal))
    expect(failure).toMatchObject({ kind: 'timeout', text: 'the request was cancelled' })
    expect(failureOf(await transport.send('app1', readRoom, cancel.signal)).kind).toBe('timeout')
  })

  it('that closes half-way through an announced length has sent nothing', async () => {
    const { transport } = await setUp(socket => {
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n${emptyPage}`)
    })
    expect(failureOf(await transport.send('app1', readRoom)).kind).toBe('network')
  })

  it('that closes between two chunks has sent nothing', async () => {
    const { transport } = await setUp(socket => {
      const size = emptyPage.length.toString(16)
      socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${size}\r\n${emptyPage}\r\n`)
    })
    expect(failureOf(await transport.send('app1', readRoom)).kind).toBe('network')
  })

  it('that sends a chunk of no size is not HTTP', async () => {
    const { transport } = await setUp(socket => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZZ\r\n{"code":0}\r\n')
    })
    expect(failureOf(await transport.send('app1', readRoom)).kind).toBe('malformed')
  })

  it('that speaks something else is not HTTP', async () => {
    const { transport } = await setUp(socket => socket.end('220 mail.example.com ESMTP\r\n'))
    expect(failureOf(await transport.send('app1', readRoom)).kind).toBe('malformed')
  })

  it.each([
    ['in a chunk', 'transfer-encoding: chunked\r\n\r\n50\r\n{"code":'],
    ['between chunks', 'transfer-encoding: chunked\r\n\r\n8\r\n{"code":\r\n'],
    ['before its length', 'content-length: 80\r\n\r\n{"code":'],
  ])(
    'whose answer ends %s is a network failure, whether or not it said that it would close',
    async (_, rest) => {
      for (const said of ['', 'connection: close\r\n']) {
        const { transport } = await setUp(socket => socket.end(`HTTP/1.1 200 OK\r\n${said}${rest}`))
        expect(failureOf(await transport.send('app1', readRoom)).kind).toBe('network')
      }
    },
  )

  it('that resets the connection is a network failure', async () => {
    const { transport } = await setUp(socket => socket.resetAndDestroy())
    expect(failureOf(await transport.send('app1', readRoom)).kind).toBe('network')
  })

  it('that does not listen is a network failure', async () => {
    const { server, transport } = await setUp(() => {})
    await server.close()
    expect(failureOf(await transport.send('app1', readRoom))).toMatchObject({
      kind: 'network',
      text: expect.stringMatching(/^the connection to 127\.0\.0\.1:\d+ failed \(ECONNREFUSED\)$/),
    })
  })

  it('that is slow to begin and to go on is waited for by who allows it more time than is usual', async () => {
    const [first, rest] = [emptyPage.slice(0, 20), emptyPage.slice(20)]
    const slow = (socket: Socket) => {
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${emptyPage.length}\r\n\r\n`
      setTimeout(() => socket.write(head + first), 2_000)
      setTimeout(() => socket.write(rest), 4_000)
    }
    const limits = { headers: 100, idle: 100, total: 10_000 }
    const sendWithin = async (deadline: number) => {
      const { transport } = await setUp(slow, { limits }, url => ({ classroom: { url, deadline } }))
      return transport.send('app1', readRoom)
    }
    const [usual, patient] = await Promise.all([sendWithin(10_000), sendWithin(20_000)])
    expect(failureOf(usual).text).toContain('no headers within the time allowed')
    expect(patient).toMatchObject({ ok: true })
  })

  it('that sends headers without end is refused', async () => {
    const { transport } = await setUp(socket => {
      socket.write(`HTTP/1.1 200 OK\r\n${'x-bomb: 0123456789\r\n'.repeat(10_000)}`)
    })
    expect(failureOf(await transport.send('app1', readRoom))).toMatchObject({
      // Less of a range would be asked for, and single values given up, if it were the body that is too large.
      kind: 'malformed',
      text: 'the headers passed their cap',
    })
  })

  it('that sends a body without end is cut at the cap, and its connection is destroyed', async () => {
    const { server, transport } = await setUp(
      socket => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
        const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
        const pour = () => {
          while (!socket.destroyed && socket.write(chunk));
        }
        socket.on('drain', pour)
        pour()
      },
      { bodyBytes: megabyte },
    )
    const failure = failureOf(await transport.send('app1', readRoom))
    expect([failure.kind, failure.body?.length]).toEqual(['too_large', 65_536])
    expect(server.bytesWritten()).toBeLessThan(32 * megabyte)
  })

  it('that says before a body that it is beyond the cap need not send more than a beginning', async () => {
    const { server, transport } = await setUp(
      socket => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${megabyte + 1}\r\n\r\n${' '.repeat(100_000)}`)
      },
      { bodyBytes: megabyte, limits: { idle: 5_000, total: 5_000 } },
    )
    const failure = failureOf(await transport.send('app1', readRoom))
    expect([failure.kind, failure.body?.length]).toEqual(['too_large', 65_536])
    expect(server.bytesWritten()).toBeLessThan(megabyte)
  })

  it('that answers a refusal with a body without end is still that refusal', async () => {
    const { transport } = await setUp(socket => {
      socket.write('HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\ntransfer-encoding: chunked\r\n\r\n')
      const pour = () => {
        while (!socket.destroyed && socket.write(`10000\r\n${' '.repeat(65_536)}\r\n`));
      }
      socket.on('drain', pour)
      pour()
    })
    const failure = failureOf(await transport.send('app1', readRoom))
    expect([failure.kind, failure.retryAfter, failure.body?.length]).toEqual(['rate_limited', 5, 65_536])
  })

  it('that sends a gzip bomb gets none of it unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * megabyte))
    const { transport } = await setUp(socket => {
      socket.write(framed(bomb, '200 OK', ['content-encoding: gzip']))
    })
    const failure = failureOf(await transport.send('app1', readRoom))
    expect(failure.kind).toBe('malformed')
    expect(failure.body?.length).toBeLessThanOrEqual(65_536)
  })

  it('that ends a body by closing is believed when it parses, and counted', async () => {
    const unframed: string[] = []
    const { transport } = await setUp(socket => socket.end(`HTTP/1.1 200 OK\r\n\r\n${emptyPage}`), {
      onUnframed: operation => unframed.push(operation.name),
    })
    expect((await transport.send('app1', readRoom)).ok).toBe(true)
    expect(unframed).toEqual(['roomEvents'])
  })

  it('that ends a body by closing too early has sent a malformed page', async () => {
    const { transport } = await setUp(socket => {
      socket.end(`HTTP/1.1 200 OK\r\n\r\n${emptyPage.slice(0, -9)}`)
    })
    expect(failureOf(await transport.send('app1', readRoom))).toMatchObject({
      kind: 'malformed',
      text: 'the body is not JSON',
    })
  })

  it('that echoes our headers puts none of them into a failure text', async () => {
    const { transport } = await setUp((socket, request) => socket.write(framed(request, '500 Broken')))
    const failure = failureOf(await transport.send('app1', readRoom))
    expect(Buffer.from(failure.body ?? []).toString()).toContain(canaryToken)
    expect(failure.text).toBe('the provider answered HTTP 500')
  })
})
