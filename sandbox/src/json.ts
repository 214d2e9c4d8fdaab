const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON

/** Hands a number to JSON.stringify with all of its digits. */
export function exact(value: number | bigint): unknown {
  return typeof value === 'bigint' ? raw(value.toString()) : value
}
