import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/load.ts'

test('the configuration of the README is right but for its secrets, which are not there', async () => {
  const readme = await readFile('README.md', 'utf8')
  const [, sample] = /^ {3}```yaml\n([\s\S]*?)^ {3}```$/m.exec(readme)!
  const env = { DATABASE_URL: 'postgres://daemon@db.example.com/penstock' }
  const error = await readConfig(sample!.replaceAll(/^ {3}/gm, ''), { name: 'README.md', env, folder: '/' })
    .then(() => undefined)
    .catch((error: unknown) => error as Error)
  const lines = error!.message.split('\n')
  expect(lines).toHaveLength(3)
  for (const line of lines)
    expect(line).toMatch(/(key|secret|token)File?.*the file cannot be read: no such file/)
})

test('the service of the documents hears of a changed file as they say: by systemctl reload', async () => {
  expect(await readFile('docs/watching.md', 'utf8')).toContain('`systemctl reload`')
  const [, unit] = /^```ini\n([\s\S]*?)^```$/m.exec(await readFile('docs/deploying.md', 'utf8'))!
  expect(unit).toMatch(/^ExecReload=\S*kill -HUP \$MAINPID$/m)
})
