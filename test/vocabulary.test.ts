import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** Words that this program once had for what the field has a name of its own for, and that name. */
const replaced: Readonly<Record<string, string>> = {
  agenda: 'delay queue',
  bell: 'wakeup',
  borrowFences: 'openFences',
  carry: 'stream state',
  deed: 'action',
  finalAfter: 'allowed lateness',
  gatekeeper: 'parent stream',
  harvest: 'toRows, PageResult',
  heed: 'applyHint',
  learnt: 'tail memory',
  noticeBook: 'notification store',
  notificationDesk: 'notification handler',
  occasion: 'sync options',
  oddities: 'quirks',
  rehearse: 'dry run',
  ripeUntil: 'watermark',
  rollCall: 'discovery',
  roster: 'known players',
  sequel: 'rescheduler',
  seriesWords: 'parameter names',
  setAside: 'dead letter',
  worklist: 'work queue, work item',
}

/** Where such a word means something else: in the played school bells ring, lessons carry on, and a class has a roster. */
const exceptions: Readonly<Record<string, string>> = {
  agenda: 'sandbox/src/',
  bell: 'sandbox/src/',
  carry: 'sandbox/src/',
  roster: 'sandbox/src/',
}

const files = ['src', 'sandbox/src', 'embedded-postgres/src'].flatMap(folder =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => `${folder}/${name}`),
)

const identifiersOf = (text: string) =>
  new Set(
    text
      .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      .replaceAll(/`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'/g, "''")
      .match(/[A-Za-z_$][\w$]*/g) ?? [],
  )

it.each(Object.entries(replaced))('no name says %s, which the field calls %s', word => {
  const whole = new RegExp(
    `^#?${word}$|^${word}(?=[A-Z_])|(?<=[a-z])${word[0]!.toUpperCase()}${word.slice(1)}`,
  )
  const found = files
    .filter(file => !file.startsWith(exceptions[word] ?? 'nowhere'))
    .flatMap(file =>
      [file.split('/').at(-1)!.replace('.ts', ''), ...identifiersOf(readFileSync(file, 'utf8'))]
        .filter(name => whole.test(name))
        .map(name => `${file}: ${name}`),
    )
  expect(found).toEqual([])
})
