import { count, duration, flag } from '../../settings/values.ts'

/** What every service of the provider has besides its address. */
export function service({
  bodyBytes,
  tooLong,
  travels,
}: {
  /** Longest answer, bytes. */
  readonly bodyBytes: string
  /** What happens to a longer one. */
  readonly tooLong: string
  /** What would be seen on an open network. */
  readonly travels: 'tokens' | 'credentials'
}) {
  return {
    deadline: duration('1s', '5m')
      .prefault('30s')
      .describe('A request that takes longer, in total, is given up.'),
    maxBodyBytes: count(65_536, 268_435_456, 'bytes')
      .prefault(bodyBytes)
      .describe(`An answer longer than this is refused${tooLong}.`),
    insecure: flag()
      .prefault('false')
      .describe(
        `Allow http:// to another machine: ${travels} would travel unencrypted. Within this machine http:// is always allowed.`,
      ),
  }
}
