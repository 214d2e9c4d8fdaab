import { describe, expect, it } from 'vitest'
import { parseBaseUrl } from '../../src/http/egress.ts'

describe('a base URL', () => {
  it.each([
    ['https://api.example.com', { origin: 'https://api.example.com', prefix: '' }],
    ['https://api.example.com:8443/base/', { origin: 'https://api.example.com:8443', prefix: '/base' }],
    ['http://127.0.0.1:9000', { origin: 'http://127.0.0.1:9000', prefix: '' }],
    ['http://127.1:9000', { origin: 'http://127.0.0.1:9000', prefix: '' }],
    ['http://localhost:9000', { origin: 'http://localhost:9000', prefix: '' }],
    ['http://[::1]:9000', { origin: 'http://[::1]:9000', prefix: '' }],
  ])('%s is allowed', (text, base) => {
    expect(parseBaseUrl(text)).toMatchObject(base)
  })

  it.each([
    ['not a url', 'the base URL is not a URL'],
    ['ftp://api.example.com', 'the base URL must begin with https://'],
    ['file:///etc/passwd', 'the base URL must begin with https://'],
    ['http://api.example.com', 'the base URL must begin with https:// (http:// only on a loopback address)'],
    [
      'http://localhost.example.com',
      'the base URL must begin with https:// (http:// only on a loopback address)',
    ],
    ['http://169.254.169.254', 'the base URL must begin with https:// (http:// only on a loopback address)'],
    ['https://user:canary@api.example.com', 'the base URL must not hold a user or a password'],
    ['https://api.example.com?token=canary', 'the base URL must not hold a query or a fragment'],
  ])('%s is refused', (text, message) => {
    expect(() => parseBaseUrl(text)).toThrow(message)
  })

  it('may be plain http where the config says insecure', () => {
    expect(parseBaseUrl('http://sandbox.internal', { insecure: true }).origin).toBe('http://sandbox.internal')
  })
})
