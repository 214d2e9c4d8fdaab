import { describe, expect, it } from 'vitest'
import { maskSecrets, redactBytes } from '../../src/provider/redaction.ts'

describe('secrets of a player', () => {
  it.each(['token', 'encryptKey', 'encryptKdfSalt', 'EncryptKey', 'extra.encryptKey'])(
    '%s is masked in values and in bytes',
    name => {
      expect(maskSecrets({ [name]: 'canary' })).toEqual({ [name]: '[redacted]' })
      const bytes = redactBytes(Buffer.from(`{"${name}": "can\\"ary", "id": 1`))
      expect(Buffer.from(bytes).toString()).toBe(`{"${name}": "[redacted]", "id": 1`)
    },
  )

  it.each(['encryptMode', 'key', 'streamUrl'])('%s is none', name => {
    const value = { [name]: 'shown' }
    expect(maskSecrets(value)).toBe(value)
    expect(Buffer.from(redactBytes(Buffer.from(JSON.stringify(value)))).toString()).toBe(
      JSON.stringify(value),
    )
  })

  it('leave numbers beside them as they came, to the last digit', () => {
    const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => object }
    const masked = maskSecrets({ token: 'canary', huge: rawJSON('1e400') })
    expect(JSON.stringify(masked)).toBe('{"token":"[redacted]","huge":1e400}')
  })
})
