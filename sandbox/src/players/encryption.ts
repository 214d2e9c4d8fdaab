const length = 32

/** 32 bytes that are not all 0, written as they are or in base64. */
export function isSalt(text: string): boolean {
  const plain = Buffer.from(text)
  if (plain.length === length) return !/^(?:0+|\0+)$/.test(text)
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return false
  return Buffer.from(text, 'base64').some(byte => byte !== 0)
}
