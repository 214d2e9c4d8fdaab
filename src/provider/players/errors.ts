import type { BusinessError } from '../operation.ts'

/** The players document's table of errors: whatever is not 2XX failed, and its body has a message. */
export const playerErrors: readonly BusinessError[] = [
  { status: 400, meaning: 'a request parameter is incorrect' },
  { status: 401, meaning: 'the key or the secret is missing or wrong' },
  { status: 403, meaning: 'the project may not do this' },
  { status: 404, meaning: 'there is no such player, or it has been destroyed' },
  { status: 409, meaning: 'there is a player of the same name' },
  { status: 429, meaning: 'too many requests, or too many players' },
  { status: 500, meaning: 'the server failed' },
  { status: 503, meaning: 'the service is not available' },
  { status: 504, meaning: 'no timely answer: list the players to see what was done' },
]

/** How services of this kind say that there are too many players, be it with 429 or with 403. */
const quotaWords = /quota|resources? (?:limit|exceed)/i

/** Whether a refusal, its body as text, says so: no waiting mends it. */
export function isQuotaRefusal(status: number, body: string): boolean {
  return (status === 429 || status === 403) && quotaWords.test(body)
}
