/** What one check found. The text holds no secret. */
export interface Finding {
  /** What was looked at: the database, an app. */
  readonly subject: string
  readonly result: 'ok' | 'warning' | 'failed'
  readonly text: string
}
