/** One of several ways in which a provider may behave. */
export interface Choice<Value extends string = string> {
  readonly values: readonly Value[]
  readonly default: Value
  readonly description: string
}

export interface Quantity {
  readonly unit: string
  readonly default: number
  readonly description: string
}

export function choice<const Value extends string>(
  standard: NoInfer<Value>,
  values: readonly Value[],
  description: string,
): Choice<Value> {
  return { values, default: standard, description }
}

export function quantity(standard: number, unit: string, description: string): Quantity {
  return { unit, default: standard, description }
}
