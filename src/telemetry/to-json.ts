/** Indented JSON for people and programs; an integer above 2^53 becomes a string, which every reader keeps whole. */
export function toJson(value: object): string {
  return JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? String(one) : one), 2)
}
