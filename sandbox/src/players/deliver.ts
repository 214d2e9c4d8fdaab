/** A notification on its way to a customer's server. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Brings a notification of an app to the customer's server: resolves with the HTTP status of the answer, rejects
 * where there is none. The provider waits ten seconds for it, which is for whoever delivers to keep.
 */
export type Deliver = (app: string, delivery: Delivery) => Promise<number>
