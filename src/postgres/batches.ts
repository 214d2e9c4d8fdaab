interface Asked<Question, Answer> {
  readonly question: Question
  readonly resolve: (answer: Answer | Promise<Answer>) => void
  readonly reject: (error: unknown) => void
}

/** Answers each of some questions, in their order. Where it throws, none of them has an answer. */
type Run<Question, Answer> = (
  questions: readonly Question[],
) => Promise<readonly (Answer | Promise<Answer>)[]>

/**
 * Has what is asked at one time answered together, `most` questions by a statement and so many statements `atOnce`. Nobody
 * waits for others to ask: what is asked while all of these are under way goes with the next one.
 */
export function createBatches<Question, Answer>(most: number, atOnce: number, run: Run<Question, Answer>) {
  const waiting: Asked<Question, Answer>[] = []
  let under = 0

  async function next(): Promise<void> {
    if (under >= atOnce || waiting.length === 0) return
    under += 1
    const together = waiting.splice(0, most)
    try {
      const answers = await run(together.map(({ question }) => question))
      for (const [n, { resolve }] of together.entries()) resolve(answers[n]!)
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
    under -= 1
    void next()
  }

  return (question: Question): Promise<Answer> =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject })
      void next()
    })
}
