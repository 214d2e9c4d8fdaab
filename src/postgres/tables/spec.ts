/**
 * What Postgres must know of each table that streams fill. A test holds these against the database's catalogue.
 */
export interface TableSpec<Row = object> {
  /** What the key begins with: app_id, room_uuid and incarnation of what is in a room; else app_id alone. */
  readonly within: 'room' | 'app'
  /** Columns after those that make a row unique. */
  readonly key: readonly (keyof Row & string)[]
  /** Every column of the row type with its Postgres type. */
  readonly columns: { readonly [C in keyof Row & string]: string }
  /**
   * What a row does to a stored one with the same key. `keep`: nothing; `replace`: newer wins; `merge`: newer
   * wins where it says something, null leaves what is known; `revise`: the one with the latest fetched_at wins, and
   * revision counts how often the value changed.
   */
  readonly onConflict: 'keep' | 'replace' | 'merge' | 'revise'
  /**
   * Columns that escape the rule of onConflict. `latch`: once true it stays true; `final`: what came with a true
   * `finished` is not replaced by what comes without; `alive`: merged, but what was known of one that had been
   * destroyed no longer holds when it comes back.
   */
  readonly except?: {
    readonly [C in keyof Row & string]?: 'keep' | 'replace' | 'merge' | 'latch' | 'final' | 'alive'
  }
  /** Partitioned by time. Postgres does not tell which rows of such a table were new: changed ones count as well. */
  readonly partitioned?: true
  /** Column that the database sets to its clock when a stored row changes. */
  readonly touched?: string
}

export type Specs<Tables> = { readonly [T in keyof Tables]: TableSpec<Tables[T]> }
